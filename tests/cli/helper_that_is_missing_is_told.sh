. "$LIB"
expect_exit 2 env GPUREADY_HELPER=/nonexistent/helper "$GPUREADY" detect --json=out.json
expect_in "GPUREADY_HELPER=/nonexistent/helper: no such file" "$err"
