. "$LIB"
expect_exit 2 "$GPUREADY" frobnicate
expect_exit 2 "$GPUREADY" detect --no-such-option
expect_exit 2 "$GPUREADY" detect --full --no-libraries
expect_exit 0 "$GPUREADY" --help
expect_exit 0 "$GPUREADY" --version
