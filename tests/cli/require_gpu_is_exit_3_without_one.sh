. "$LIB"
[ ! -e /proc/driver/nvidia ] || skip "this machine has a GPU"
expect_exit 3 "$GPUREADY" detect --require-gpu
expect_exit 3 "$GPUREADY" check --require-gpu=2
