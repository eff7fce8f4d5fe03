. "$LIB"
rm -rf ./*
expect_exit 0 "$GPUREADY" vm compat --image-cuda 12.4 --driver 550.163.01
expect_exit 0 "$GPUREADY" vm compat --image-cuda 12.9 --driver 550.163.01 --json -
[ "$(jq -r .fit <<<"$out")" = minor_version ] || die "$out"
expect_exit 1 "$GPUREADY" vm compat --image-cuda 13.0 --driver 570.86.16
expect_in "580.65.06 or newer" "$out"
expect_exit 4 "$GPUREADY" vm compat --image-cuda 99.0 --driver 580.65.06
expect_exit 2 "$GPUREADY" vm compat --image-cuda new --driver 580.65.06
expect_exit 2 "$GPUREADY" vm compat --image-cuda 12.4
# Driver libraries of the image itself.
mkdir -p root/usr/lib/x86_64-linux-gnu root/usr/local/cuda-12.9/compat
expect_exit 0 "$GPUREADY" vm compat --image-cuda 12.4 --driver 550.163.01 --rootfs root
expect_in "no driver libraries" "$out"
touch root/usr/local/cuda-12.9/compat/libcuda.so.575.57.08
expect_exit 0 "$GPUREADY" vm compat --image-cuda 12.4 --driver 550.163.01 --rootfs root
expect_in "compatibility package" "$out"
touch root/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15
expect_exit 1 "$GPUREADY" vm compat --image-cuda 12.4 --driver 550.163.01 --rootfs root
expect_in "may take it instead of 550.163.01" "$out"
# The GPU, by its PCI id.
compat=("$GPUREADY" vm compat --image-cuda 11.4)
expect_exit 0 "${compat[@]}" --driver 580.65.06 --gpu 10de:2330
expect_in "Driver 580.65.06 serves 10de:2330" "$out"
expect_exit 1 "${compat[@]}" --driver 590.44.01 --gpu 10de:1db6 --json -
[ "$(jq -r '.gpu.architecture, .gpu.served' <<<"$out" | xargs)" = "Volta false" ] || die "$out"
expect_exit 1 "${compat[@]}" --driver 515.48.07 --gpu 10de:2684
expect_in "too old for 10de:2684" "$out"
expect_exit 4 "${compat[@]}" --driver 580.65.06 --gpu 10de:ffff
expect_exit 1 "${compat[@]}" --driver 580.65.06 --gpu 1002:73bf
expect_exit 2 "${compat[@]}" --driver 580.65.06 --gpu H100
expect_in "--gpu H100: a PCI id such as 10de:2330" "$err"
