. "$LIB"
expect_exit 0 "$GPUREADY" ternary bench --device cpu --shape 64x256,3x64x256
expect_in "M 3, N 64, K 256" "$out"
expect_in "two-bit" "$out"
[ -z "$(awk 'length($0) > 80' <<<"$out")" ] || die "wider than 80 columns: $out"
expect_exit 0 "$GPUREADY" ternary bench --tier scalar --shape 64x256 --json -
expect_in '"schema": "gpuready.ternary-bench"' "$out"
expect_in '"read_share"' "$out"
expect_exit 2 "$GPUREADY" ternary bench --shape big
GPUREADY_LIBCUDA=$PWD/none.so expect_exit 4 "$GPUREADY" ternary bench --device cuda --shape 64x256
