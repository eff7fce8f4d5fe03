. "$LIB"
. "$SOURCE/tests/vm/stub_driver.sh"
rm -rf ./*
make_stub_driver driver 580.65.06
expect_exit 2 "$GPUREADY" vm drivers collect driver -o bundles/b
mkdir bundles
expect_exit 0 "$GPUREADY" vm drivers collect driver -o bundles/b
expect_in "libcuda.so.580.65.06" "$out"
expect_in "no kernel modules" "$out"
expect_exit 0 "$GPUREADY" vm drivers list bundles
expect_in "bundles/b: driver 580.65.06 for x86_64" "$out"
expect_exit 0 "$GPUREADY" vm drivers show bundles/b --json -
[ "$(jq -r '.bundles[0].bundle.files[] | select(.soname == "libcuda.so.1").links[0]' <<<"$out")" = libcuda.so ] ||
  die "no link libcuda.so"
expect_exit 0 "$GPUREADY" vm drivers verify bundles/b
echo x >>bundles/b/lib/libcuda.so.580.65.06
expect_exit 1 "$GPUREADY" vm drivers verify bundles/b
expect_in "lib/libcuda.so.580.65.06 has" "$out"
# What exists is not replaced, and a mistake leaves nothing.
expect_exit 2 "$GPUREADY" vm drivers collect driver -o bundles/b
expect_in "bundles/b exists" "$err"
make_stub_driver driver/old 570.10.01
expect_exit 2 "$GPUREADY" vm drivers collect driver -o bundles/c
expect_in "570.10.01, 580.65.06" "$err"
expect_exit 2 "$GPUREADY" vm drivers collect "$LIB" -o bundles/c
expect_exit 2 "$GPUREADY" vm drivers show driver
[ "$(ls -A bundles)" = b ] || die "left something: $(ls -A bundles)"
