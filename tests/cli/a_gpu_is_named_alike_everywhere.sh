# One grammar for GPUs in every command, and one refusal, which lists what is here.
. "$LIB"
eight=$MACHINES/base-hgx-h100x8/machine.json
chosen() { jq -r '[.verdicts[] | .pci_address] | unique | join(" ")' <<<"$out"; }
"$GPUREADY" detect --full --replay $eight --json=machine.json -q >/dev/null
gpu() { jq -r ".machine.gpus[3] | $1" machine.json; }
address=$(gpu .pci)
for name in 3 "cuda:$(gpu .cuda_ordinal)" $address ${address#*:} "$(gpu .uuid)" "cuda:$(gpu .uuid)"; do
  expect_exit 4 "$GPUREADY" check --device "$name" --replay $eight --json -
  [ "$(chosen)" = "$address" ] || die "--device $name: $(chosen)"
done
for name in H100 "h100 80gb" 9.0 sm_90; do
  expect_exit 4 "$GPUREADY" check --device "$name" --replay $eight --json -
  [ "$(chosen | wc -w)" -eq 8 ] || die "--device $name: $(chosen)"
done
for name in 8 cuda:8 0000:ff:00.0 GPU-ffffffff A100 8.0; do
  for command in check test selftest; do
    expect_exit 2 "$GPUREADY" $command --device "$name" --replay $eight
    expect_in "--device $name: no such GPU here: 0 (NVIDIA H100" "$err"
    expect_in "; 7 (NVIDIA H100" "$err"
  done
done
# A device for a virtual machine is one GPU.
for name in 3 "$(gpu .uuid)" $address; do
  expect_exit 0 "$GPUREADY" vm show "$name" --replay $eight --json -
  [ "$(jq -r '.devices[].address' <<<"$out")" = "$address" ] || die "vm show $name: $out"
done
expect_exit 2 "$GPUREADY" vm show H100 --replay $eight
expect_in "DEVICE H100: name one of these GPUs: 0 (NVIDIA H100" "$err"
# What is not here is refused by those that look at this machine, too.
touch code
for command in "check --device" "selftest --device" "bench run --gpu" "ternary verify --device" "ternary bench --device" \
  "pack explain code --gpu" "pack install release --gpu" "vm compat --image-cuda 12.4 --driver 550 --gpu"; do
  expect_exit 2 "$GPUREADY" $command nine
  expect_in "${command##* } nine: no such GPU here: " "$err$out"
done
# An index of CUDA or Vulkan that is not here, too: no executor decides otherwise.
for name in cuda:9 vulkan:7 cuda:GPU-ffffffff vulkan:0123456789abcdef0123456789abcdef; do
  for command in "ternary verify" "ternary bench"; do
    expect_exit 2 "$GPUREADY" $command --device $name
    expect_in "--device $name: no such GPU here: " "$err$out"
  done
done
# A GPU to decide for need not be here.
for name in 9.0 sm_90 H100 10de:2330; do
  expect_exit 0 "$GPUREADY" vm compat --image-cuda 12.9 --driver 580.65.06 --gpu "$name" --json -
  [ "$(jq -r .gpu.architecture <<<"$out")" = Hopper ] || die "$name: $out"
done
expect_exit 1 "$GPUREADY" vm compat --image-cuda 12.9 --driver 590.44.01 --gpu 7.0
for name in 8.6 sm_86 A10 "RTX 3090"; do
  expect_exit 0 "$GPUREADY" pack explain code --gpu "$name" --driver 550 --json -
  [ "$(jq -r '.gpus[].target' <<<"$out")" = "$(jq -r '.gpus[].target' <<<"$out" | head -n 1)" ] || die "$name: $out"
done
expect_exit 2 "$GPUREADY" pack explain code --gpu "RTX 6000"
expect_in "name one of these: 7.5 (" "$err"
# So are times and drivers' versions.
for driver in 550 550.54 550.54.14; do
  expect_exit 0 "$GPUREADY" pack explain code --gpu A10 --driver $driver
  expect_exit 0 "$GPUREADY" vm compat --image-cuda 12.4 --driver $driver
done
for command in "pack explain code --gpu 8.6" "pack install release --gpu 8.6" "vm compat --image-cuda 12.4"; do
  expect_exit 2 "$GPUREADY" $command --driver new
  expect_in "--driver new: a version is digits and dots, such as 550 or 535.104.05" "$err$out"
done
for command in "detect --timeout" "ternary bench --timeout" "bench run --max-seconds" "bench run --timeout" "pack gc --wait" \
  "test --duration" "slurm install --interval"; do
  expect_exit 2 "$GPUREADY" $command soon
  expect_in "soon is not a time" "$err"
done
