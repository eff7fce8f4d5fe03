. "$LIB"
[ ! -e /proc/driver/nvidia ] || skip "this machine has a GPU"
"$GPUREADY" check --timeout 20 2>&1 | grep -q llvmpipe || skip "no llvmpipe here"
expect_exit 0 "$GPUREADY" check --device vulkan --timeout 20 --json=report.json
expect_in "llvmpipe (software) was tested instead and passed" "$out"
expect_in "tested in software proves nothing about a GPU" "$(tr '\n' ' ' <<<"$out")"
expect_in "which is not a GPU" "$(cat report.json)"
expect_not_in "The host is tested" "$out$err"
# What it proves is not nothing: a flipped bit is found.
expect_exit 1 "$GPUREADY" check --device vulkan --inject bitflip
expect_in "llvmpipe (software) failed the memory test" "$out"
