# Shared by the command-line tests: fail on any error, and say which expectation broke.
set -euo pipefail
unset GPUREADY_FAKE BITNET_GPU_FAKE CUDA_VISIBLE_DEVICES COLUMNS
export GPUREADY_TRUST_NAMED_LIBRARIES=1  # variables name the fake drivers
die() { echo "FAILED: $*" >&2; exit 1; }
skip() { echo "SKIPPED: $*" >&2; exit 77; }
# expect_exit CODE COMMAND...: runs it, keeps stdout in $out and stderr in $err.
expect_exit() {
  local want=$1 got=0
  shift
  "$@" >stdout.txt 2>stderr.txt </dev/null || got=$?
  out=$(cat stdout.txt) err=$(cat stderr.txt)
  [ "$got" -eq "$want" ] || die "exit $got instead of $want: $*"$'\n'"$out"$'\n'"$err"
}
expect_in() { case $2 in *"$1"*) ;; *) die "no '$1' in: $2" ;; esac; }
expect_not_in() { case $2 in *"$1"*) die "'$1' in: $2" ;; *) ;; esac; }
# The GPU in software that lacks nothing: the driver that executes PTX, of release builds.
ready_gpu() {
  [ -e "$FAKES/fake_cuda_ptx.so" ] || skip "this build has no driver in software that executes PTX"
  export GPUREADY_LIBNVML=$FAKES/../tests/shim/ptx_nvml.so GPUREADY_LIBCUDA=$FAKES/fake_cuda_ptx.so
  export FAKE_CUDA="cc=9.0,memory=4MiB,sms=1,mhz=1"  # which it surpasses on a busy machine, too
}
