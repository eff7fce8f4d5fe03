. "$LIB"
export GPUREADY_TERNARY_LOG=$PWD/calls.log
expect_exit 0 "$GPUREADY" ternary bench --tier scalar --threads 1 --shape 3x64x256
product='^gpuready-ternary call=product m=3 n=64 k=256 form=two-bit group=0 kernel=scalar threads=1 ms=[0-9.]+ gb_s=[0-9.]+ gops=[0-9.]+$'
grep -qE "$product" calls.log || die "no product: $(head -5 calls.log)"
grep -qE '^gpuready-ternary call=pack m=0 n=64 k=256 form=two-bit group=0 kernel= threads=[0-9]+ ' calls.log || die "no pack: $(head -5 calls.log)"
[ "$(grep -cvE '^gpuready-ternary call=[a-z]+ m=' calls.log)" = 0 ] || die "other lines: $(head -5 calls.log)"
GPUREADY_TERNARY_LOG=1 expect_exit 0 "$GPUREADY" ternary bench --tier scalar --threads 1 --shape 3x64x256
grep -qE "$product" <<<"$err" || die "not on standard error: $err"
GPUREADY_TERNARY_LOG=0 expect_exit 0 "$GPUREADY" ternary bench --tier scalar --threads 1 --shape 3x64x256
[[ "$err" != *gpuready-ternary* ]] || die "a log though it is off: $err"
