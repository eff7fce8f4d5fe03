#!/usr/bin/env bash
# Configures and builds targets of a preset (CMakePresets.json), and shows how far it is. What was
# configured before keeps its options. Usage: scripts/build.sh PRESET [TARGET...] [-- CMAKE_OPTION...]
set -euo pipefail
usage() { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; }
case ${1:-} in
  -h | --help) usage; exit ;;
  '' | -*) usage >&2; exit 2 ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=$1
shift
targets=() options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do targets+=("$1"); shift; done
[ $# -eq 0 ] || options=("${@:2}")

if [ ! -f "build/$preset/build.ninja" ] || [ ${#options[@]} -gt 0 ]; then
  [ -f "build/$preset/build.ninja" ] || echo "build: configuring build/$preset" >&2
  compiler=()
  found=$(g++ -dumpversion 2>/dev/null | cut -d. -f1) || true
  if [ "$preset" = release ] && [ "${found:-0}" -lt 12 ]; then
    # Ubuntu 22.04's g++ is older, or missing, and a newer one stands beside it.
    for version in 14 13 12; do
      command -v g++-$version >/dev/null || continue
      compiler=(-DCMAKE_CXX_COMPILER=g++-$version -DCMAKE_C_COMPILER=gcc-$version)
      break
    done
  fi
  log=$(cmake --preset "$preset" "${compiler[@]}" "${options[@]}" 2>&1) || { echo "$log" >&2; exit 1; }
fi
[ "$(ninja -C "build/$preset" -n "${targets[@]}" | tail -n 1)" != "ninja: no work to do." ] || exit 0
# One line that counts on a terminal, else a line for each step.
NINJA_STATUS="build: %f of %t, %e s  " ninja -C "build/$preset" "${targets[@]}" >&2
