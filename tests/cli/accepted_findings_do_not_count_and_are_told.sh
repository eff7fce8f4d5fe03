. "$LIB"
one=$MACHINES/one-of-eight-unbound/machine.json
expect_exit 1 "$GPUREADY" doctor --replay "$one"
expect_exit 1 "$GPUREADY" doctor --replay "$one" --accept driver-not-bound@0
expect_in "--accept driver-not-bound@0: there is no such finding here." "$(tr -s ' \n' ' ' <stdout.txt)"
for rule in driver-not-bound driver-not-bound@7; do
  expect_exit 0 "$GPUREADY" doctor --replay "$one" --accept "$rule" --require-gpu=8
  expect_in "Accepted, as asked by --accept $rule: NVIDIA's kernel module is" "$(tr -s ' \n' ' ' <stdout.txt)"
  expect_exit 3 "$GPUREADY" doctor --replay "$one" --accept "$rule" --require-gpu=9
done
expect_exit 0 "$GPUREADY" doctor --replay "$one" --accept driver-not-bound@7 --json -
expect_in '"accepted":' "$out"
link=$MACHINES/pcie-link-degraded/machine.json
expect_exit 0 "$GPUREADY" doctor --replay "$link" --accept pcie-link-degraded@0000:17:00.0
expect_in "Nothing is wrong" "$out"
expect_exit 2 "$GPUREADY" doctor --replay "$link" --accept pcie-link-degraded@99
expect_in "accepting pcie-link-degraded of 99: no such GPU here: 0 (" "$(tr -s ' \n' ' ' <stderr.txt)"
expect_exit 2 "$GPUREADY" doctor --replay "$one" --accept "No such id"
expect_in "give the name of a finding or an obligation" "$err"
for command in doctor check test; do
  expect_exit 2 "$GPUREADY" $command --replay "$one" --accept driver-not-bond@7
  expect_in "there is no finding or obligation driver-not-bond; did you mean driver-not-bound?" "$err"
done
