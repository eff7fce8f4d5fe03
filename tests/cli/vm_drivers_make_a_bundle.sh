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
# One that is damaged is named, and hides no other.
mkdir bundles/a && echo '{' >bundles/a/bundle.json
expect_exit 1 "$GPUREADY" vm drivers list bundles --json -
[ "$(jq -r '.bundles[].folder' <<<"$out")" = bundles/b ] || die "$out"
jq -r '.problems[0]' <<<"$out" | grep -q '^bundles/a/bundle.json: ' || die "not named: $out"
rm -r bundles/a
expect_exit 0 "$GPUREADY" vm drivers verify bundles/b
echo x >>bundles/b/lib/libcuda.so.580.65.06
expect_exit 1 "$GPUREADY" vm drivers verify bundles/b
expect_in "lib/libcuda.so.580.65.06 has" "$out"
# The driver's own list of GPUs says which it serves, without those that it leaves to an older branch.
cat >driver/supported-gpus.json <<'J'
{ "chips": [
  { "devid": "0x2330", "name": "NVIDIA H100 80GB HBM3", "features": ["kernelopen"] },
  { "devid": "0x2331", "name": "one", "subdeviceid": "0x1234", "subvendorid": "0x10DE" },
  { "devid": "0x0FC6", "name": "GeForce GTX 650", "legacybranch": "470.xx" } ] }
J
expect_exit 0 "$GPUREADY" vm drivers collect driver -o bundles/gpus
expect_exit 0 "$GPUREADY" vm drivers show bundles/gpus --json -
[ "$(jq -c '.bundles[0].bundle.supported_gpus' <<<"$out")" = '["0x2330","0x2331"]' ] || die "the list: $out"
expect_exit 0 "$GPUREADY" vm compat --image-cuda 12.9 --bundle bundles/gpus --gpu 10de:2330
expect_in "Driver 580.65.06 serves 10de:2330" "$out"
for gpu in 10de:0fc6 10de:2335; do
  expect_exit 1 "$GPUREADY" vm compat --image-cuda 12.9 --bundle bundles/gpus --gpu $gpu
  expect_in "does not serve $gpu" "$(echo $out)"
done
echo '{ "chips": [ { "devid": "2330x" } ] }' >driver/supported-gpus.json
expect_exit 2 "$GPUREADY" vm drivers collect driver -o bundles/bad
expect_in 'supported-gpus.json: "2330x" is not a PCI device id such as 0x2330' "$err"
rm -r bundles/gpus driver/supported-gpus.json
# What exists is not replaced, and a mistake leaves nothing.
expect_exit 2 "$GPUREADY" vm drivers collect driver -o bundles/b
expect_in "bundles/b exists" "$err"
make_stub_driver driver/old 570.10.01
expect_exit 2 "$GPUREADY" vm drivers collect driver -o bundles/c
expect_in "570.10.01, 580.65.06" "$err"
expect_exit 2 "$GPUREADY" vm drivers collect "$LIB" -o bundles/c
expect_exit 2 "$GPUREADY" vm drivers show driver
[ "$(ls -A bundles)" = b ] || die "left something: $(ls -A bundles)"
# A kernel that was asked for, and of which there is no module.
expect_exit 2 "$GPUREADY" vm drivers collect driver -o bundles/kernel --driver-version 580.65.06 --kernel 1.2.3
expect_in "1.2.3" "$err"
