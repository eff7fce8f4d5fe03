#!/usr/bin/env bash
# The program where glibc is older than where it was built: in a root that holds Debian 11's libc (2.31) and
# nothing else. The root has a /proc of its own and no /sys.
# Usage: debian_11.sh GPUREADY SOURCE BUILD; exit 77 where there are no such packages or no namespaces.
set -euo pipefail
program=$1 source=$2 root=$3/debian-11
fail() { echo "debian_11: $*" >&2; exit 1; }
"$source/scripts/debian_packages.sh" "$root" bullseye amd64 libc6
mkdir -p "$root"/{proc,tmp,dev}
: >"$root/dev/null"  # a file does
cp "$program" "$root/gpuready"
rm -rf "$root/machines"
cp -r "$source/tests/machines" "$root/machines"

enter=(unshare --mount --pid --fork --mount-proc="$root/proc")
[ "$(id -u)" = 0 ] || enter+=(--user --map-root-user)
"${enter[@]}" true || { echo "debian_11: not tested: no namespaces may be made here"; exit 77; }
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LD_BIND_NOW=1 "${enter[@]}" chroot "$root" /gpuready "$@"; }  # every symbol is looked up

expect() {  # expect EXIT TEXT COMMAND...
  local want=$1 text=$2 got=0 said
  shift 2
  said=$(inside "$@" 2>&1) || got=$?
  [ "$got" = "$want" ] || fail "exit $got instead of $want: gpuready $*"$'\n'"$said"
  grep -qF -- "$text" <<<"$said" || fail "gpuready $* printed no \"$text\":"$'\n'"$said"
}
expect 0 "gpuready" --version
expect 4 "the PCI bus cannot be read" detect  # the root has no /sys
expect 4 "Tests of the host" check --timeout 20
expect 0 "Every injected fault was found" selftest --device cpu --trials 5
expect 0 "[ok]  cpu/scalar" ternary verify --device cpu --seed 5

# Without the time it took, and without the breaks of lines, which that time can move.
timeless() { tr -s ' \n' '\n' | sed '/^took$/{N;N;d}'; }
# It says of other machines what it says of them on this system.
for machine in "$root"/machines/*/machine.json; do
  machine=${machine#"$root/"}
  diff <(cd "$root" && env -i ./gpuready doctor --replay "$machine" 2>&1 | timeless) \
       <(inside doctor --replay "/$machine" 2>&1 | timeless) || fail "doctor differs for $machine"
done
echo "debian_11: the same with $(basename "$(readlink -f "$root/lib/x86_64-linux-gnu/libc.so.6")")"
