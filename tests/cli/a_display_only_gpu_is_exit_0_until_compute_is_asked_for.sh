. "$LIB"
# shellcheck shell=sh
for machine in healthy-nouveau-desktop healthy-nouveau-laptop healthy-radeon-desktop; do
  desktop="$MACHINES/$machine/machine.json"
  expect_exit 0 "$GPUREADY" doctor --replay "$desktop"
  expect_in "GPU is for display only" "$out"
  [ $machine = healthy-nouveau-laptop ] || expect_in "[-] No GPU for compute" "$out"
  expect_exit 1 "$GPUREADY" doctor --require-gpu=2 --replay "$desktop"
  expect_in "not ready" "$out"
  expect_exit 1 "$GPUREADY" test --replay "$desktop"
done
# What --device names decides: a laptop's other GPU, or the processor, asks nothing of this one.
laptop="$MACHINES/healthy-nouveau-laptop/machine.json"
for asked in 1:1:not_ready 0:4:display_only cpu:4:display_only; do
  expect_exit "$(cut -d: -f2 <<<$asked)" "$GPUREADY" check --device ${asked%%:*} --replay "$laptop" --json
  [ "$(jq -r '.gpu_status[1].status' <<<"$out")" = ${asked##*:} ] || die "--device ${asked%%:*}: $out"
done
for machine in nouveau-bound nouveau-headless-server nouveau-desktop-with-driver; do
  expect_exit 1 "$GPUREADY" doctor --replay "$MACHINES/$machine/machine.json"
done
