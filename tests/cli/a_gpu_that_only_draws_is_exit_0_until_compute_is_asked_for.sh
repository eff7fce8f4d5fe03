. "$LIB"
# shellcheck shell=sh
for machine in healthy-nouveau-desktop healthy-nouveau-laptop healthy-radeon-desktop; do
  desktop="$MACHINES/$machine/machine.json"
  expect_exit 0 "$GPUREADY" doctor --replay "$desktop"
  expect_in "draws the picture with the GPU" "$out"
  expect_exit 1 "$GPUREADY" doctor --require-gpu=2 --replay "$desktop"
  expect_exit 1 "$GPUREADY" test --replay "$desktop"
done
for machine in nouveau-bound nouveau-headless-server nouveau-desktop-with-driver; do
  expect_exit 1 "$GPUREADY" doctor --replay "$MACHINES/$machine/machine.json"
done
