. "$LIB"
rm -rf ./*
expect_exit 0 "$GPUREADY" vm compat --image-cuda 12.4 --driver 550.163.01
expect_exit 0 "$GPUREADY" vm compat --image-cuda 12.9 --driver 550.163.01 --json -
[ "$(jq -r .fit <<<"$out")" = minor_version ] || die "$out"
expect_exit 1 "$GPUREADY" vm compat --image-cuda 13.0 --driver 570.86.16
expect_in "580.65.06 or newer" "$(echo $out)"
expect_exit 4 "$GPUREADY" vm compat --image-cuda 99.0 --driver 580.65.06
expect_exit 2 "$GPUREADY" vm compat --image-cuda new --driver 580.65.06
expect_exit 2 "$GPUREADY" vm compat --image-cuda 12.4
# Driver libraries of the image itself.
mkdir -p root/usr/lib/x86_64-linux-gnu root/usr/local/cuda-12.9/compat
expect_exit 0 "$GPUREADY" vm compat --image-cuda 12.4 --driver 550.163.01 --rootfs root
expect_in "no driver libraries" "$(echo $out)"
touch root/usr/local/cuda-12.9/compat/libcuda.so.575.57.08
expect_exit 0 "$GPUREADY" vm compat --image-cuda 12.4 --driver 550.163.01 --rootfs root
expect_in "compatibility package" "$(echo $out)"
# Forward compatibility is for GPUs of data centers.
compat=("$GPUREADY" vm compat --image-cuda 12.4 --driver 550.163.01 --rootfs root)
expect_exit 0 "${compat[@]}" --gpu 10de:2684
expect_in "Forward compatibility is for data-center GPUs" "$(echo $out)"
expect_in "error 804" "$(echo $out)"
expect_exit 0 "${compat[@]}" --gpu 10de:2684 --json -
[ "$(jq -r .gpu.forward_compatible <<<"$out")" = false ] || die "$out"
expect_exit 0 "${compat[@]}" --gpu 10de:2330
expect_not_in "error 804" "$(echo $out)"
touch root/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15
expect_exit 1 "$GPUREADY" vm compat --image-cuda 12.4 --driver 550.163.01 --rootfs root
expect_in "may take it instead of 550.163.01" "$(echo $out)"
# The GPU, by its PCI id.
compat=("$GPUREADY" vm compat --image-cuda 11.4)
expect_exit 0 "${compat[@]}" --driver 580.65.06 --gpu 10de:2330
expect_in "Driver 580.65.06 serves 10de:2330" "$(echo $out)"
expect_exit 1 "${compat[@]}" --driver 590.44.01 --gpu 10de:1db6 --json -
[ "$(jq -r '.gpu.architecture, .gpu.served' <<<"$out" | xargs)" = "Volta false" ] || die "$out"
expect_exit 1 "${compat[@]}" --driver 515.48.07 --gpu 10de:2684
expect_in "too old for 10de:2684" "$(echo $out)"
# What the pci.ids of Debian 12 does not name: the H200, the B300; a Hopper of no list by its chip's range of ids.
for driver in 550.163.01 580.65.06 595.45.04; do
  expect_exit 0 "${compat[@]}" --driver $driver --gpu 10de:2335 --json -
  [ "$(jq -r '.gpu.architecture, .gpu.served, .gpu.id' <<<"$out" | xargs)" = "Hopper true 10de:2335 (GH100 [H200 SXM 141GB])" ] ||
    die "$driver: $out"
done
# The lists are of the open modules: what they leave out is no proof against the proprietary ones, but for Blackwell.
for driver in 535.261.03 555.42.02; do
  expect_exit 4 "${compat[@]}" --driver $driver --gpu 10de:2335
  expect_in "is not known: it serves Hopper, and NVIDIA's lists of GPUs name it from 550.40.65 on" "$(echo $out)"
done
for driver in 535.104.05 550.163.01 610.10; do
  expect_exit 0 "${compat[@]}" --driver $driver --gpu 10de:1eb8
  expect_in "Driver $driver serves 10de:1eb8" "$(echo $out)"
done
# A driver newer than the catalogue implements all that the catalogue knows.
expect_exit 0 "$GPUREADY" vm compat --image-cuda 13.2 --driver 610.10 --json -
[ "$(jq -r '.fit, .native_cuda' <<<"$out" | xargs)" = "native null" ] || die "$out"
expect_exit 1 "${compat[@]}" --driver 580.65.06 --gpu 10de:3182
expect_exit 0 "${compat[@]}" --driver 580.105.08 --gpu 10de:3182
expect_exit 0 "${compat[@]}" --driver 580.65.06 --gpu 10de:23fe
expect_exit 0 "${compat[@]}" --driver 470.256.02 --gpu 10de:20b0
expect_exit 4 "${compat[@]}" --driver 999.1 --gpu 10de:2335
expect_exit 4 "${compat[@]}" --driver 580.65.06 --gpu 10de:ffff
expect_exit 1 "${compat[@]}" --driver 580.65.06 --gpu 1002:73bf
expect_exit 0 "${compat[@]}" --driver 580.65.06 --gpu H100
expect_in "Driver 580.65.06 serves 10de:" "$(echo $out)"
expect_exit 2 "${compat[@]}" --driver 535.104.05 --gpu GeForce
expect_in "--gpu GeForce: whether the driver serves these models differs; name one: 10de:" "$err"
for gpu in 10de 10de: :2330 10de:233 10de:12330 10de:233g; do
  expect_exit 2 "${compat[@]}" --driver 580.65.06 --gpu $gpu
done
expect_exit 2 "${compat[@]}" --driver 580.65.06 --gpu nine
expect_in "--gpu nine: no such GPU here: " "$err"
expect_exit 2 "${compat[@]}" --driver new
expect_in "--driver new: a version is digits and dots" "$err"
