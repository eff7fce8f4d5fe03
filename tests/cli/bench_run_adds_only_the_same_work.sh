. "$LIB"
rm -rf bench-results
"$(dirname "$LIB")/bench_runs.py" bench-results mine 0 2 1000
expect_exit 2 "$GPUREADY" bench run --tag mine --add --device cpu --task gemm --m 8 --n 8 --k 8
expect_in "the tag mine holds runs of mlp batch 64 hidden 2048, bf16, cuda (mine-0)" "$err"
expect_in "and this one is of gemm k 8 m 8 n 8, fp32, cpu: give it another tag" "$err"
[ "$(ls bench-results | grep -c json)" = 1 ] || die "something was written"
