. "$LIB"
for machine in healthy-container-2-of-8 healthy-slurm-2-of-8; do
  for command in detect doctor; do
    expect_exit 0 "$GPUREADY" $command --replay "$MACHINES/$machine/machine.json" --require-gpu=2
    expect_in "6 more on the bus are not this" "$out"
    expect_exit 3 "$GPUREADY" $command --replay "$MACHINES/$machine/machine.json" --require-gpu=8
    expect_not_in "Nothing is wrong" "$out"
  done
done
for machine in off-the-bus container-lost-gpu; do
  for command in detect doctor; do
    expect_exit 1 "$GPUREADY" $command --replay "$MACHINES/$machine/machine.json" --require-gpu=8
    expect_exit 1 "$GPUREADY" $command --replay "$MACHINES/$machine/machine.json"
  done
done
