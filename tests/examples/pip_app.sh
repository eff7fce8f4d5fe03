# examples/pip-app by pip itself, offline: `pip install` of a pure wheel, whose first start chooses, installs and tests a
# variant, on a machine with a GPU and on one without; what is installed runs. A second start asks no server; a broken
# download leaves the CPU; without the key, or with another one, nothing is installed.
source "$1/tests/examples/ternary_dot_release.sh" pip-work "$@"
for python in python3 /usr/bin/python3 ""; do
  [ -n "$python" ] || skip "no Python with venv, setuptools and wheel"
  "$python" -c 'import ensurepip, setuptools, venv, wheel' 2>/dev/null && break
done
export PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1

mkdir wheels && artefact wheel wheels >/dev/null
cp -r "$source/examples/pip-app" app
"$python" -m pip wheel --no-build-isolation --no-deps --wheel-dir wheels ./app >pip.log 2>&1 || die "$(cat pip.log)"
[ -e wheels/ternary_dot_app-1.0.0-py3-none-any.whl ] || die "another wheel: $(ls wheels)"
"$python" -m venv venv
venv/bin/pip install --find-links wheels ternary-dot-app >pip.log 2>&1 || die "$(cat pip.log)"
native=venv/share/ternary-dot
[ ! -e $native ] || die "pip has run the app"

start() {  # start EXIT MACHINE TEXT [VARIABLE=VALUE...] [--update]
  local want=$1 kind=$2 text=$3 got=0 out words=() variables=()
  shift 3
  for word in "$@"; do case $word in --*) words+=("$word") ;; *) variables+=("$word") ;; esac; done
  out=$(machine "$kind" env TERNARY_DOT_KEY="$key" "${variables[@]}" venv/bin/ternary-dot "${words[@]}" 2>app.log) || got=$?
  [ $got = "$want" ] || die "the app ends with $got on '$kind': $(cat app.log)"
  [ "$out" = "$text" ] || die "the app says '$out', not '$text': $(cat app.log)"
}
fresh() { rm -rf $native; }
gpu="variant gpu on the CPU: 36 -36 -4" cpu="variant cpu on the CPU: 36 -36 -4" python="Python on the CPU: 36 -36 -4"

start 0 gpu "$gpu"
[ "$(fetched)" -gt 0 ] || die "no archive was fetched: $(cat server.log)"
asked=$(wc -l <server.log)
start 0 gpu "$gpu"
[ ! -s app.log ] || die "a second start says: $(cat app.log)"
[ "$(wc -l <server.log)" = "$asked" ] || die "a second start asks the server: $(cat server.log)"

# The GPU is gone: the same environment gets the CPU's variant, and back. `env --check` knows
# a machine by its devices and the kernel's module, which a fake driver lacks, so the record is changed instead.
elsewhere() { sed -i 's/"machine": "driver/& 1 or/' $native/current/.gpuready/installed.json; }
elsewhere
start 0 none "$cpu"
elsewhere
start 0 gpu "$gpu"

# Downloads that break: no server; an archive that is cut; one whose bytes are others'.
fresh
start 0 gpu "$python" TERNARY_DOT_RELEASE=http://127.0.0.1:1
fresh
truncate -s 100 "$archive"
start 0 gpu "$cpu"
fresh
change_archive
start 1 gpu ""
[ ! -e $native/current ] || die "bytes of another were installed"
cp whole "$archive"

# Keys: none, and that of another maker. The variant that is there stays.
start 0 gpu "$python" TERNARY_DOT_KEY=
grep -q "no variant was installed" app.log || die "without a key: $(cat app.log)"
start 1 gpu "" TERNARY_DOT_KEY="$other_key"
[ ! -e $native/current ] || die "installed by another's key"
start 0 gpu "$gpu"
start 1 gpu "" TERNARY_DOT_KEY="$other_key" --update
start 0 gpu "$gpu"

# A file that was changed after the installation.
library=$native/current/lib/libternary_dot.so.1
sum=$(sha256sum <"$library")
printf '\001' | dd of="$library" bs=1 seek=100 conv=notrunc status=none
[ "$(sha256sum <"$library")" != "$sum" ] || die "the library was not changed"
start 0 gpu "$gpu" --update
[ "$(sha256sum <"$library")" = "$sum" ] || die "a damaged library stays: $(cat app.log)"

# A machine without gpuready.
venv/bin/pip uninstall --yes gpuready
fresh
start 0 gpu "$python"
grep -q "gpuready cannot be started" app.log || die "without gpuready: $(cat app.log)"
echo "pip-app: ok"
