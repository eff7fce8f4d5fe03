. "$LIB"
expect_exit 3 "$GPUREADY" check --fake cuda --require-gpu
expect_in "ake" "$out"
expect_exit 0 env BITNET_GPU_FAKE=cuda,rocm "$GPUREADY" detect
expect_in "FAKE" "$(printf %s "$out" | tr a-z A-Z)"
