. "$LIB"
export GPUREADY_LIBCUDA=$PWD/no-such-library.so
expect_exit 4 "$GPUREADY" ternary verify --device cuda
expect_in "not tested" "$out"
case $(uname -m) in x86_64) other=neon ;; *) other=avx2 ;; esac
expect_exit 4 "$GPUREADY" ternary verify --tier "$other"
expect_in "another architecture" "$out"
expect_exit 2 "$GPUREADY" ternary verify --device tpu
expect_exit 2 "$GPUREADY" ternary verify --tier sse
expect_exit 2 "$GPUREADY" ternary
# A fake executes nothing.
GPUREADY_FAKE=cuda expect_exit 4 "$GPUREADY" ternary verify --device cuda
expect_in "GPUREADY_FAKE" "$out"
# A device that the driver's answer excludes is wrong usage; if the driver does not start, the device may exist.
export GPUREADY_LIBNVML=$FAKES/../tests/shim/ptx_nvml.so GPUREADY_LIBCUDA=$FAKES/fake_cuda.so
if [ -e "$GPUREADY_LIBNVML" ]; then
  expect_exit 2 "$GPUREADY" ternary verify --device cuda:7
  expect_in "--device cuda:7: no such GPU here" "$err"
  FAKE_CUDA="init=999" expect_exit 4 "$GPUREADY" ternary verify --device cuda:7
fi
unset GPUREADY_LIBNVML
export GPUREADY_LIBCUDA=$PWD/no-such-library.so
# A process for the GPUs that hangs, and one that dies.
printf '#!/bin/sh\nexec sleep 60\n' >hangs; printf '#!/bin/sh\nkill -SEGV $$\n' >dies; chmod +x hangs dies
GPUREADY_HELPER=$PWD/hangs expect_exit 4 "$GPUREADY" ternary verify --device cuda --timeout 0.5
expect_in "timed out" "$out"
GPUREADY_HELPER=$PWD/dies expect_exit 1 "$GPUREADY" ternary verify --device cuda
expect_in "was ended by" "$out"
