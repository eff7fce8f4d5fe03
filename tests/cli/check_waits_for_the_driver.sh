. "$LIB"
ready_gpu
rm -f settled
# A driver that is still being set up until the file "settled" appears.
cat >starting.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
int cuInit(unsigned flags) {
  int (*real)(unsigned) = (int (*)(unsigned))dlsym(RTLD_NEXT, "cuInit");
  return access("settled", F_OK) == 0 ? real(flags) : 802;  // CUDA_ERROR_SYSTEM_NOT_READY
}
C
cc -shared -fPIC starting.c -o starting.so -Wl,--no-as-needed "$FAKES/fake_cuda_ptx.so" -Wl,-rpath,"$FAKES"
export GPUREADY_LIBCUDA=$PWD/starting.so
expect_exit 1 "$GPUREADY" check
expect_in CUDA_ERROR_SYSTEM_NOT_READY "$out"
started=$SECONDS
expect_exit 1 "$GPUREADY" check --wait 2s
[ $((SECONDS - started)) -ge 2 ] || die "it did not wait"
(sleep 1 && touch settled) &
expect_exit 0 "$GPUREADY" check --wait 5min
expect_not_in CUDA_ERROR_SYSTEM_NOT_READY "$out"
wait
# Where nothing is wrong it waits for nothing.
started=$SECONDS
expect_exit 0 "$GPUREADY" check --wait 5min
[ $((SECONDS - started)) -lt 60 ] || die "it waited for $((SECONDS - started)) s"
