# The model that is chosen is one that its program has loaded: within its time and memory, not as root, and
# with the variant's files alone. One that does not load gives way to the next; where none loads, the old
# version stays.
source "$LIB"
rm -rf home source built release key.* && mkdir -p home source/cpu/bin source/cpu/lib
export HOME=$PWD/home GPUREADY_FAKE=none
chmod 700 home
cat >source/cpu/bin/load <<'P'
#!/bin/sh
# Loads a model: the program of the test.
[ "$(id -u)" != 0 ] || { echo "I am root"; exit 9; }
[ "$(cat lib/weights)" = weights ] || exit 8
case $PACK_MODEL in
  hungry) exec tail /dev/zero ;;
  slow) sleep 60 & wait ;;
  broken) echo "no room for $1" >&2; exit 3 ;;
  good) exit 0 ;;
esac
P
chmod 755 source/cpu/bin/load
echo weights >source/cpu/lib/weights
release() {  # VERSION MODEL...
  printf 'name = "libs"\nversion = "%s"\nfolder = "source/{variant}"\n[variants.cpu]\n' "$1" >pack.toml
  local name
  for name in "${@:2}"; do
    printf '[[models]]\nname = "%s"\nload = ["bin/load", "the weights"]\nseconds = 2\nmemory_mb = 200\n' "$name" >>pack.toml
  done
  "$GPUREADY" pack build --out built -q >/dev/null
  "$GPUREADY" pack publish --built built --to release --key key.key -q >/dev/null
}
current() { jq -r '.packages[0] | .current as $n | .installed[] | select(.number == $n) | .version' <("$GPUREADY" pack list libs --json); }
"$GPUREADY" pack key key --no-password -q >/dev/null

release 1 hungry slow broken good
expect_exit 0 "$GPUREADY" pack install release --key key.pub --json=install.json
[ "$(jq -r .model install.json)" = good ] || die "the model: $(cat install.json)"
[ "$(jq -r .installed.model install.json)" = good ] || die "the record: $(cat install.json)"
[ "$(jq -r .model home/.config/libs/gpu-package-info.json)" = good ] || die "programs are not told the model"
notes=$(jq -r '.notes[]' install.json)
expect_in "model hungry does not load: bin/load: exit code 1: tail: memory exhausted" "$notes"
expect_in "model slow does not load: bin/load: no end within 2 s" "$notes"
expect_in "model broken does not load: bin/load: exit code 3: no room for the weights" "$notes"
expect_exit 0 "$GPUREADY" pack install release
expect_in "Model: good" "$out"

release 2 broken
expect_exit 1 "$GPUREADY" pack install release
expect_in "model broken does not load: bin/load: exit code 3: no room for the weights; what was installed before stays" "$(echo $out)"
[ "$(current)" = 1 ] || die "a version without a model that loads is current"
printf '[[models]]\nname = "any"\n' >>pack.toml
sed -i 's/^version.*/version = "3"/' pack.toml
"$GPUREADY" pack build --out built -q >/dev/null
expect_exit 0 "$GPUREADY" pack publish --built built --to release --key key.key
expect_exit 0 "$GPUREADY" pack install release --json=install.json
[ "$(jq -r .model install.json)" = any ] || die "a model without a program: $(cat install.json)"

sed -i -e 's/^version.*/version = "4"/' -e 's|bin/load|bin/other|' pack.toml
"$GPUREADY" pack build --out built -q >/dev/null
expect_exit 2 "$GPUREADY" pack publish --built built --to release --key key.key
expect_in "model broken: variant cpu has no program bin/other" "$err"
