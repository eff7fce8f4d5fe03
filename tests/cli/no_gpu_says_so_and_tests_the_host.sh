. "$LIB"
[ ! -e /proc/driver/nvidia ] || skip "this machine has a GPU"
expect_exit 0 "$GPUREADY" check --timeout 20
expect_in "No GPU" "$out"
expect_in "the host" "$out"
