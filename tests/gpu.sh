#!/usr/bin/env bash
# Everything that needs a GPU, in one go, on a machine that has one:
#   tests/gpu.sh [GPUREADY] [FOLDER_FOR_RESULTS]
# GPUREADY is a built binary (default build/release/src/gpuready). Needs bash, python3 and, for the
# comparison, nvidia-smi; nothing is installed and no setting of a GPU is changed. Prints a table last;
# exits 1 when a row failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
binary=$(realpath "${1:-build/release/src/gpuready}")
results=$(mkdir -p "${2:-build/gpu-results}" && realpath "${2:-build/gpu-results}")
rows=() failures=0 skips=0
unset GPUREADY_FAKE BITNET_GPU_FAKE CUDA_VISIBLE_DEVICES

row() {  # row NAME STATUS DETAIL
  rows+=("$(printf '%-34s %-7s %s' "$1" "$2" "$3")")
  [ "$2" != FAILED ] || failures=$((failures + 1))
  [ "$2" != SKIPPED ] || skips=$((skips + 1))
}
# judge NAME COMMAND...: the row passes when the command exits 0; its last line of output is the detail.
judge() {
  local name=$1 log=$results/${1//[^a-z0-9]/_}.log
  shift
  if "$@" >"$log" 2>&1; then row "$name" passed "$(tail -n 1 "$log")"; else
    row "$name" FAILED "$(tail -n 1 "$log")"
    sed "s/^/  | /" "$log" | tail -n 12
  fi
}
skipped() { row "$1" SKIPPED "$2"; }
exec 3>&1
table() {  # also of a call that is stopped, whose output may go to a row's log then
  printf '\n%-34s %-7s %s\n' test result detail
  printf '%s\n' "${rows[@]}"
  printf '\n%d passed, %d failed, %d skipped\n' "$((${#rows[@]} - failures - skips))" "$failures" "$skips"
} >&3
json() { python3 tests/gpu_checks.py "$@"; }

"$binary" detect --full --json="$results/detect.json" >"$results/detect.txt"
gpus=$(python3 -c 'import json,sys; print(len(json.load(open(sys.argv[1]))["machine"]["gpus"]))' "$results/detect.json")
[ "$gpus" -gt 0 ] || { echo "gpu.sh: no GPU on this machine" >&2; exit 1; }
trap table EXIT
trap 'row "stopped by a signal" FAILED "what was left is not shown"; exit 143' TERM INT

judge "detect agrees with nvidia-smi" json agrees "$results/detect.json"
judge "doctor: nothing is wrong" json doctor_clean "$binary"
judge "check: figures" json check_figures "$binary" "$results" "$gpus"
judge "check: exit codes" json exit_codes "$binary" "$gpus"
judge "gpu-test contract" json gpu_test "$binary" "$gpus"
judge "gpu_test by every name" json gpu_test_names "$binary" "$gpus"
judge "fitness" json fitness "$binary"
judge "injected bit flip is found" json injected "$binary" "$results/detect.json"
judge "busy GPU is not tested" json busy "$binary"
judge "unknown use is never idle" json unknown_use "$binary"
judge "named libraries prove nothing" json named_libraries "$binary"
judge "refused code is never ready" json refused_code "$binary"
judge "killed parent leaves nothing" json killed_parent "$binary"
# Libraries that spoil what the driver does, built beside the binary: ninja shim_cuda shim_nvml.
shim=$(realpath -m "${binary%/*}/../tests/shim")
if [ -e "$shim/libcuda.so.1" ] && [ -e "$shim/libnvidia-ml.so.1" ]; then
  judge "foreign faults: none is missed" python3 tests/shim/foreign_faults.py "$binary" "$shim" \
    --faults "${GPUREADY_FOREIGN_FAULTS:-60}" --seconds 160 --json "$results/foreign_faults.json"
else
  skipped "foreign faults: none is missed" "the libraries are not built: $shim"
fi
judge "standard level: all tests" json standard "$binary" "$results" "$gpus"
judge "selftest: every fault is found" json selftest "$binary" "$results" "${GPUREADY_TRIALS:-50}"
judge "ternary: exact on every GPU" json ternary "$binary" "$results" "$gpus"
# In full, minutes each, where they were built beside it: ninja bench_ternary_gpu bench_ternary_gemm, which `ninja` does not.
uuid=cuda:$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["machine"]["gpus"][0]["uuid"])' "$results/detect.json")
in_full() { # NAME PROGRAM ARGUMENTS...
  local name=$1 program=${binary%/*}/$2
  shift 2
  [ ! -x "$program" ] || judge "$name" timeout 300 "$program" "$uuid" "$@"
}
in_full "ternary vectors, in full" bench_ternary_gpu --check-only
in_full "ternary matrices, in full" bench_ternary_gemm check
judge "bench: own stacks" json own_stacks "$binary" "$results"
judge "killed worker keeps the rest" json killed_worker "$binary" "$gpus"
judge "interrupt keeps what is known" json interrupted "$binary"
judge "fleet, exporter, Slurm's hooks" json fleet "$binary" "$results"
judge "record, redact, replay" json replay "$binary" "$results"
judge "clean checks, no false alarm" json no_false_alarm "$binary" "${GPUREADY_CLEAN_RUNS:-50}"
judge "loaded machine, no false alarm" json false_alarm_under_load "$binary"
judge "command times" json times "$binary" "$results" "$gpus"
[ "$failures" -eq 0 ]
