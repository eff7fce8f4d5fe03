. "$LIB"
expect_exit 2 "$GPUREADY" detect --fake cudda
expect_in "cudda" "$err"
expect_in "cuda" "$err"
