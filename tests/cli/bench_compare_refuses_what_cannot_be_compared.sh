. "$LIB"
runs() { "$(dirname "$LIB")/bench_runs.py" bench-results "$@"; }
rm -rf bench-results
ROOFLINE=1e12 runs base 0 2 1000 1003 998 1001 999 1002 1000 1003 998 1001 999 1002
GPU=GPU-2 DRIVER=590.10 ROOFLINE=2e12 runs other 1 2 502 501 503 500 502 501 502 501 503 500 502 501
expect_exit 2 "$GPUREADY" bench compare base other
expect_in "gpu: NVIDIA H200 GPU-1 against NVIDIA H200 GPU-2" "$out"
expect_in "driver: 580.65.06 against 590.10" "$out"
expect_in "Give --allow gpu,driver" "$out"
expect_exit 2 "$GPUREADY" bench compare base other --json -
expect_in '"refused": true' "$out"
expect_exit 0 "$GPUREADY" bench compare base other --allow gpu,driver
expect_in "other is faster than base" "$out"
# Twice as fast on a machine that is twice as fast.
expect_exit 0 "$GPUREADY" bench compare base other --normalise
expect_in "base and other are the same within 1%" "$out"
expect_exit 2 "$GPUREADY" bench compare base other --allow everything
# Nothing is held against itself.
expect_exit 2 "$GPUREADY" bench compare base base
expect_in "the run base-0 is on both sides, base and base: name other runs" "$err"
expect_exit 2 "$GPUREADY" bench compare base other,base-3 --allow gpu,driver
expect_in "the run base-3 is on both sides, base and other,base-3" "$err"
expect_exit 2 "$GPUREADY" bench promote base base-1
