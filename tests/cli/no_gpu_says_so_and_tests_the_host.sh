. "$LIB"
[ ! -e /proc/driver/nvidia ] || skip "this machine has a GPU"
expect_exit 0 "$GPUREADY" check --timeout 20
expect_in "No GPU" "$out"
expect_in "the host" "$out"
# Without /sys it cannot be told.
unseen=$MACHINES/sys-not-mounted/machine.json
for command in doctor detect check; do
  expect_exit 4 "$GPUREADY" $command --replay "$unseen"
  flat=$(tr -s '\n ' ' ' <<<"$out")
  expect_in "Cannot tell whether this machine has a GPU: the PCI bus cannot be read (/sys is not mounted, or is empty)." "$flat"
  expect_not_in "No GPU" "$flat"
done
for command in "vm list" "vm doctor" "vm doctor --side=host"; do
  expect_exit 4 "$GPUREADY" $command --replay "$unseen"
  expect_in "Cannot tell whether a device is here: the PCI bus cannot be read" "$(tr -s '\n ' ' ' <<<"$out")"
  expect_not_in "IOMMU is off" "$out"
done
# A GPU that was passed and cannot be used is the error, not its absence.
for machine in hyperv-partition-permission hyperv-partition-without-driver wsl-blocked; do
  expect_exit 1 "$GPUREADY" doctor --replay $MACHINES/$machine/machine.json
  expect_not_in "No GPU in this machine" "$(tr -s '\n ' ' ' <<<"$out")"
done
