# What code of a package starts while it is tried does not outlive the trial: daemons that left their session
# end with it, however it ends. As root its home is an empty folder of its own, which is gone afterwards.
source "$LIB"
command -v cc >/dev/null || skip "no C compiler"
command -v setsid >/dev/null || skip "no setsid"
rm -rf home source built release key.* && mkdir -p home source/cpu/bin source/cpu/lib
export HOME=$PWD/home GPUREADY_FAKE=none GPUREADY_OCI_TOKEN=secret XDG_CACHE_HOME=$PWD/home/cache
mark=3$$.125 other=4$$.125  # seconds, by which the daemons of this test are known
cat >source/cpu/bin/load <<P
#!/bin/sh
# Leaves a daemon behind; in each way to end.
[ -z "\$GPUREADY_OCI_TOKEN" ] || { echo "the token is here" >&2; exit 9; }
(setsid sh -c 'sleep $mark & sleep $mark' >/dev/null 2>&1 </dev/null &)
[ ! -e /proc/self/fd/3 ] || { echo "a descriptor is open" >&2; exit 8; }
if [ "\$(id -u)" = 65534 ]; then
  [ -z "\$XDG_CACHE_HOME" ] || exit 7
  if [ -w /tmp ]; then
    case \$HOME in /tmp/gpuready-home-*) ;; *) echo "HOME is \$HOME" >&2; exit 5 ;; esac
    [ -z "\$(ls -A "\$HOME")" ] || exit 6
    mkdir -p "\$HOME/.cache/deep" && echo "\$HOME" >"\$HOME/.cache/deep/file" || exit 4
  else  # nobody may write there: it has none
    [ ! -e "\$HOME" ] || exit 5
  fi
else
  [ "\$HOME" = "$HOME" ] || exit 5
fi
case \$PACK_MODEL in
  slow) sleep 60 ;;
  broken) echo "its home: \$HOME" >&2; exit 3 ;;
  cut) kill -9 \$\$ ;;
esac
P
chmod 755 source/cpu/bin/load
printf '%s\n' "#include <unistd.h>
__attribute__((constructor)) static void start(void) {
  if (fork() == 0) { setsid(); if (fork() == 0) execlp(\"sleep\", \"sleep\", \"$other\", (char *)0); _exit(0); }
}" >code.c && cc -shared -fPIC -o source/cpu/lib/libone.so code.c
printf 'name = "libs"\nversion = "1"\nfolder = "source/{variant}"\n[variants.cpu]\n' >pack.toml
for name in slow broken cut good; do
  printf '[[models]]\nname = "%s"\nload = ["bin/load"]\nseconds = 2\n' "$name" >>pack.toml
done
"$GPUREADY" pack key key --no-password -q >/dev/null
"$GPUREADY" pack build --out built -q >/dev/null
"$GPUREADY" pack publish --built built --to release --key key.key -q >/dev/null
left() { pgrep -fc "sleep ($mark|$other)" || true; }
[ "$(left)" = 0 ] || die "the test's own daemons run before it begins"
expect_exit 0 "$GPUREADY" pack install release --key key.pub --json=install.json
[ "$(jq -r .model install.json)" = good ] || die "the model: $(cat install.json)"
notes=$(jq -r '.notes[]' install.json)
expect_in "model slow does not load: bin/load: no end within 2 s" "$notes"
expect_in "model broken does not load: bin/load: exit code 3" "$notes"
expect_in "model cut does not load: bin/load: signal 9" "$notes"
[ "$(left)" = 0 ] || die "$(left) daemons outlive the installation: $(pgrep -fa "sleep ($mark|$other)")"
used=$(grep -o 'its home: .*' <<<"$notes" | cut -d' ' -f3)
[ -n "$used" ] || die "no home in: $notes"
[ "$used" = "$HOME" ] || [ ! -e "$used" ] || die "$used is left"

# The installer itself is killed.
sed -i '/^\[\[models/,$d' pack.toml
printf '[[models]]\nname = "slow"\nload = ["bin/load"]\nseconds = 50\n' >>pack.toml
sed -i 's/^version.*/version = "2"/' pack.toml
"$GPUREADY" pack build --out built -q >/dev/null
"$GPUREADY" pack publish --built built --to release --key key.key -q >/dev/null
"$GPUREADY" pack install release -q &
for _ in $(seq 100); do [ "$(left)" = 0 ] || break; sleep 0.05; done
[ "$(left)" != 0 ] || die "the program does not start"
sleep 0.2
kill -9 $!
for _ in $(seq 200); do [ "$(left)" != 0 ] || break; sleep 0.05; done
[ "$(left)" = 0 ] || die "daemons outlive an installer that was killed: $(pgrep -fa "sleep ($mark|$other)")"
