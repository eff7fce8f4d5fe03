. "$LIB"
expect_exit 0 env GPUREADY_HELPER=/nonexistent/helper "$GPUREADY" detect --json=out.json
