. "$LIB"
[ ! -e /proc/driver/nvidia ] || skip "this machine has a GPU"
expect_exit 1 "$GPUREADY" gpu-test
expect_in "Linux Kernel Version: $(uname -r)" "$out"
ln -sf "$GPUREADY" gpu_test
expect_exit 1 ./gpu_test
expect_in "Failed to" "$out"
