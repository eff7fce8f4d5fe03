# examples/npm-app by npm itself, offline: `npm install` chooses, installs and verifies a variant, on a machine with a GPU and
# on one without; what is installed runs. A second one changes nothing; a broken download leaves the CPU; without the key,
# or with another one, nothing is installed.
source "$1/tests/examples/ternary_dot_release.sh" npm-work "$@" npm node
export npm_config_cache=$PWD/cache npm_config_update_notifier=false

# The npm package of gpuready, as a release makes it.
case $(uname -m) in x86_64) cpu=x64 ;; aarch64) cpu=arm64 ;; *) skip "no npm package for $(uname -m)" ;; esac
cp -r "$source/examples/npm-app" app && mkdir app/packages
mv "$(artefact npm .)" "app/packages/gpuready-linux-$cpu.tgz"
sed -i "s/gpuready-linux-x64/gpuready-linux-$cpu/g" app/package.json

install() {  # install EXIT MACHINE [VARIABLE=VALUE...]
  local want=$1 kind=$2 got=0
  shift 2
  (cd app && machine "$kind" env TERNARY_DOT_KEY="$key" "$@" npm install --offline --no-audit --no-fund --foreground-scripts) >npm.log 2>&1 || got=$?
  [ $((got != 0)) = "$want" ] || die "npm install ends with $got on '$kind': $(cat npm.log)"
}
says() {  # says MACHINE TEXT: the app, started by npm
  local out
  out=$(cd app && machine "$1" npm start --silent 2>&1) || die "the app fails: $out"
  [ "$out" = "$2" ] || die "the app says '$out', not '$2'"
}
fresh() { rm -rf app/native app/node_modules app/package-lock.json home && mkdir home; }
state() { find app/native -printf '%P %i %T@ %l\n' | sort; }

install 0 gpu
says gpu "variant gpu on the CPU: 36 -36 -4"
[ "$(cd app && node_modules/.bin/gpuready --version)" = "$("$gpuready" --version)" ] || die "npm installed another gpuready"

# A second one fetches no archive and writes no file.
before=$(state) archives=$(fetched)
[ "$archives" -gt 0 ] || die "no archive was fetched: $(cat server.log)"
install 0 gpu
[ "$(fetched)" = "$archives" ] || die "a second npm install fetches archives"
[ "$(state)" = "$before" ] || die "a second npm install writes: $(diff <(echo "$before") <(state))"

# The GPU is gone: the same folder gets the CPU's variant, and back.
install 0 none
says none "variant cpu on the CPU: 36 -36 -4"
install 0 gpu
says gpu "variant gpu on the CPU: 36 -36 -4"

# A machine without a GPU from the beginning, and one without gpuready.
fresh
install 0 none
says none "variant cpu on the CPU: 36 -36 -4"
fresh
mv app/packages away
install 0 gpu PATH="$(dirname "$(command -v node)"):/usr/bin:/bin"
says gpu "JavaScript on the CPU: 36 -36 -4"
mv away app/packages

# Downloads that break: no server; an archive that is cut; one whose bytes are others'.
fresh
install 0 gpu TERNARY_DOT_RELEASE=http://127.0.0.1:1
says gpu "JavaScript on the CPU: 36 -36 -4"
fresh
truncate -s 100 "$archive"
install 0 gpu
says gpu "variant cpu on the CPU: 36 -36 -4"
fresh
change_archive
install 1 gpu
[ ! -e app/native/current ] || die "bytes of another were installed"
says gpu "JavaScript on the CPU: 36 -36 -4"
cp whole "$archive"

# Keys: none, and that of another maker.
fresh
install 0 gpu TERNARY_DOT_KEY=
grep -q "no variant was installed" npm.log || die "without a key: $(cat npm.log)"
[ ! -e app/native/current ] || die "installed without a key"
install 1 gpu TERNARY_DOT_KEY="$other_key"
[ ! -e app/native/current ] || die "installed by another's key"

# A file that was changed after the installation is found and replaced by the next one.
fresh
install 0 gpu
library=app/native/current/lib/libternary_dot.so.1
sum=$(sha256sum <"$library")
printf '\001' | dd of="$library" bs=1 seek=100 conv=notrunc status=none
[ "$(sha256sum <"$library")" != "$sum" ] || die "the library was not changed"
install 0 gpu
[ "$(sha256sum <"$library")" = "$sum" ] || die "a damaged library stays: $(cat npm.log)"
echo "npm-app: ok"
