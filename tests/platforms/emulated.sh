#!/usr/bin/env bash
# The program of another processor, with its children, in the emulator: it tests the (emulated) host, and says of
# other machines what it must. Usage: emulated.sh SCRIPT_THAT_RUNS_GPUREADY SOURCE
set -euo pipefail
export GPUREADY_HELPER=$1
fail() { echo "emulated: $*" >&2; exit 1; }
expect() {  # expect EXIT TEXT COMMAND...
  local want=$1 text=$2 got=0 said
  shift 2
  said=$("$GPUREADY_HELPER" "$@" 2>&1) || got=$?
  [ "$got" = "$want" ] || fail "exit $got instead of $want: gpuready $*"$'\n'"$said"
  grep -qF -- "$text" <<<"$said" || fail "gpuready $* printed no \"$text\":"$'\n'"$said"
}
machines=$2/tests/machines
expect 0 "gpuready" --version
expect 0 "GPU" detect
expect 0 "no finding" doctor --replay "$machines/base-hgx-h100x8/machine.json"
expect 1 "driver" doctor --replay "$machines/driver-hung/machine.json"
# An emulator's times say nothing, so what is told by times (slow-sm) may be missed here.
selftest=$("$GPUREADY_HELPER" selftest --device cpu --trials 3 2>&1) || [ $? = 1 ] || fail "$selftest"
[ "$(grep -cE '\[ok\] +(memory|compute) ' <<<"$selftest")" -ge 13 ] &&
  ! grep -E '\[x\] +(memory|compute) ' <<<"$selftest" | grep -v slow-sm >&2 || fail "$selftest"
expect 0 "[ok]  cpu/scalar" ternary verify --device cpu --seed 5
