#!/usr/bin/env bash
# On a machine with an NVIDIA GPU, as root: bundles its driver, injects it into a bare Debian root and runs
# gpuready there, in a mount namespace of its own.
#   tests/vm/gpu_inject.sh GPUREADY [FOLDER_FOR_RESULTS]
# Beside GPUREADY stand `gpuready-guest` and `debian-root.tar` (tests/vm/gpu_carry.sh makes them).
# The driver's state on the machine is not changed, and that is checked. Exit 1: a row failed.
set -uo pipefail
if [ "${GPUREADY_OWN_MOUNTS:-}" != 1 ]; then
  [ "$(id -u)" -eq 0 ] || { echo "gpu_inject.sh: needs root" >&2; exit 2; }
  GPUREADY_OWN_MOUNTS=1 exec unshare --mount --propagation private bash "$0" "$@"
fi
binary=$(realpath "$1")
guest=${binary%/*}/gpuready-guest tar=${binary%/*}/debian-root.tar
out=$(mkdir -p "${2:-build/gpu-inject}" && realpath "${2:-build/gpu-inject}")
work=$(mktemp -d /var/tmp/gpuready-inject.XXXXXX)
rows=() failures=0
cleanup() {
  grep -F " $work/" /proc/self/mounts | cut -d' ' -f2 | sort -r | xargs -r -n1 umount -l
  # Never into something that is still mounted.
  grep -qF " $work/" /proc/self/mounts || rm -rf --one-file-system "$work"
}
trap cleanup EXIT
row() {
  rows+=("$(printf '%-38s %-7s %s' "$1" "$2" "$3")")
  [ "$2" = passed ] || failures=$((failures + 1))
}
# judge NAME COMMAND...: passes when the command exits 0; its last line is the detail.
judge() {
  local name=$1 log=$work/log
  shift
  if "$@" >"$log" 2>&1; then row "$name" passed "$(tail -n 1 "$log")"; else
    row "$name" FAILED "exit $?: $(tail -n 1 "$log")"
  fi
  { echo "== $name"; cat "$log"; } >>"$out/log.txt"
}
: >"$out/log.txt"

state() { # of the machine's own driver
  cat /proc/driver/nvidia/version
  awk '/^nvidia/ { print $1, $2 }' /proc/modules | sort
  ls -lR --time-style=+ /dev/nvidia* | sort
  find /usr/local/nvidia -xdev -printf '%p %m %s %T@ %l\n' 2>/dev/null | sort
  grep -E ' (/usr/local/nvidia|/dev/nvidia)' /proc/1/mounts
}
state >"$work/before"

from=/
[ -d /usr/local/nvidia ] && from=/usr/local/nvidia
judge "collect $from" "$binary" vm drivers collect "$from" -o "$work/bundle" --json="$out/collect.json"
judge "verify the bundle" "$binary" vm drivers verify "$work/bundle" --quiet
[ -e "$work/bundle/bundle.json" ] || { printf '%s\n' "${rows[@]}"; exit 1; }

fresh_root() { # NAME
  mkdir "$work/$1" && tar -xf "$tar" -C "$work/$1" && cp "$binary" "$work/$1/usr/bin/gpuready"
}
inject() { # ROOT METHOD [OPTION...]
  local root=$1 method=$2
  shift 2
  "$guest" inject --root "$work/$root" --bundle "$work/bundle" --method "$method" "$@"
}
for method in auto hardlink bind; do
  fresh_root "$method"
  judge "inject ($method)" inject "$method" "$method"
done
fresh_root compute
judge "inject compute,utility (auto)" inject compute auto --capabilities compute,utility
judge "inject again changes nothing" inject compute auto --capabilities compute,utility
slowest=$(sed -n 's/.* \([0-9.]*\) ms$/\1/p' "$out/log.txt" | sort -g | tail -n 1)
if awk -v ms="${slowest:-9999}" 'BEGIN { exit !(ms <= 1000) }'; then
  row "slowest injection at most 1 s" passed "$slowest ms"
else
  row "slowest injection at most 1 s" FAILED "$slowest ms"
fi

# The container's view: device nodes of this machine, bound one by one.
enter() {
  local root=$work/$1 node
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount -t tmpfs tmpfs "$root/tmp"
  mkdir -p "$root/dev"
  for node in null zero full random urandom; do
    touch "$root/dev/$node" && mount --bind "/dev/$node" "$root/dev/$node"
  done
  for node in /dev/nvidia*; do
    if [ -d "$node" ]; then mkdir -p "$root$node"; else touch "$root$node"; fi
    mount --bind "$node" "$root$node"
  done
}
in_root() {
  local root=$1
  shift
  env -i PATH=/usr/bin:/usr/sbin HOME=/ chroot "$work/$root" "$@"
}
for root in compute bind; do
  enter "$root"
  judge "detect in the root ($root)" in_root "$root" /usr/bin/gpuready detect --json=/tmp/detect.json
  cp "$work/$root/tmp/detect.json" "$out/detect.$root.json"
  judge "check in the root ($root)" in_root "$root" /usr/bin/gpuready check --level quick --require-gpu \
    --json=/tmp/check.json
  cp "$work/$root/tmp/check.json" "$out/check.$root.json"
  judge "nvidia-smi in the root ($root)" in_root "$root" /usr/bin/nvidia-smi -L
done
judge "ternary verify in the root" in_root compute /usr/bin/gpuready ternary verify --device cuda --timeout 200
fresh_root nothing
enter nothing
in_root nothing /usr/bin/gpuready check --level quick --require-gpu >>"$out/log.txt" 2>&1
code=$?
if [ "$code" -eq 1 ] || [ "$code" -eq 3 ]; then
  row "without injection no GPU is ready" passed "exit $code"
else
  row "without injection no GPU is ready" FAILED "exit $code, not 1 or 3"
fi

state >"$work/after"
if cmp "$work/before" "$work/after" >>"$out/log.txt" 2>&1; then
  row "the machine's driver is unchanged" passed ""
else
  row "the machine's driver is unchanged" FAILED "see log.txt"
  diff "$work/before" "$work/after" >>"$out/log.txt"
fi
printf '%s\n' "${rows[@]}" | tee "$out/summary.txt"
[ "$failures" -eq 0 ]
