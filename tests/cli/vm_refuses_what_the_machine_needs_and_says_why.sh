. "$LIB"
expect_exit 1 "$GPUREADY" vm plan 17:00.0 --replay "$MACHINES/base-h100x1/machine.json"
expect_in "needs the IOMMU: it is off" "$out"
expect_in "iommu=pt" "$out"
expect_exit 1 "$GPUREADY" vm plan 00:02.0 --replay "$MACHINES/base-alder-lake/machine.json"
expect_in "boot display" "$out"
expect_exit 3 "$GPUREADY" vm plan 99:00.0 --replay "$MACHINES/base-h100x1/machine.json"
expect_in "is not a PCI device of this machine" "$(tr -s '\n ' ' ' <<<"$out")"
expect_exit 3 "$GPUREADY" vm show 99:00.0 --replay "$MACHINES/base-h100x1/machine.json"
expect_exit 2 "$GPUREADY" vm plan nonsense --replay "$MACHINES/base-h100x1/machine.json"
expect_exit 2 "$GPUREADY" vm plan 17:00.0 --for 'a b;c' --replay "$MACHINES/base-h100x1/machine.json"
expect_exit 2 "$GPUREADY" vm attach 17:00.0 --for a --replay "$MACHINES/base-h100x1/machine.json"  # a recording is never written to
expect_exit 2 "$GPUREADY" vm detach
expect_exit 2 "$GPUREADY" vm
