#!/usr/bin/env bash
# Runs the emulated host (QEMU without KVM) through the rows of table.txt and prints which passed:
#   tests/vm/host.sh                 all rows, also those that take long
#   tests/vm/host.sh ci              the rows that ctest runs
#   tests/vm/host.sh NAME...         these
# Variables: GPUREADY (build/release/src/gpuready), FOLDER for logs (build/vm-host). Exit 1: a row failed.
set -uo pipefail
SOURCE=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
export SOURCE GPUREADY=$(realpath "${GPUREADY:-$SOURCE/build/release/src/gpuready}")
folder=$(mkdir -p "${FOLDER:-$SOURCE/build/vm-host}" && realpath "${FOLDER:-$SOURCE/build/vm-host}")
export VM_BASE=$folder/base
wanted=" $* " failures=0
while read -r name where what; do
  case "$wanted" in "  " | *" $name "* | *" $where "*) ;; *) continue ;; esac
  mkdir -p "$folder/$name"
  start=$SECONDS result=passed code=0
  (cd "$folder/$name" && bash "$SOURCE/tests/vm/$name.sh" </dev/null >out 2>&1) || code=$?
  [ $code -eq 0 ] || result=FAILED
  [ $code -ne 77 ] || result=skipped
  [ $result != FAILED ] || failures=$((failures + 1))
  printf '%-8s %4d s  %-17s %s\n' $result $((SECONDS - start)) "$name" "$what"
  [ $result = passed ] || tail -n 3 "$folder/$name/out" | sed 's/^/         /'
done < <(grep -v '^#' "$SOURCE/tests/vm/table.txt")
[ $failures -eq 0 ]
