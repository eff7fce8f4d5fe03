. "$LIB"
consoles="$SOURCE/tests/consoles"
expect_exit 0 "$GPUREADY" vm doctor --console "$consoles/guest-ready.log"
expect_in "ready" "$out"
expect_exit 1 "$GPUREADY" vm doctor --console "$consoles/guest-other-kernel.log" --json=doctor.json
expect_in "failed step: module nvidia" "$out"
jq -e '.failed_step // .console.failed_step | .kind == "module" and .subject == "nvidia"' doctor.json >/dev/null || die "no failed step"
jq -e '.findings[0].id == "module-other-kernel" and .findings[0].explains[0].id == "gpu-not-seen"' doctor.json >/dev/null ||
  die "other findings"
expect_exit 1 "$GPUREADY" vm doctor --console "$consoles/hypeman-old-nodes.log"
expect_in "failed step: node /dev/nvidiactl" "$out"
expect_exit 1 "$GPUREADY" vm doctor --console "$consoles/guest-image-files-in-the-way.log"
expect_in "failed step: library" "$out"
expect_exit 4 "$GPUREADY" vm doctor --console "$consoles/linux-no-gpu-at-all.log"
expect_exit 2 "$GPUREADY" vm doctor --console nothing-here.log
expect_exit 2 "$GPUREADY" vm doctor --console "$consoles/empty.log" --replay "$MACHINES/no-gpu/machine.json"
expect_exit 0 "$GPUREADY" vm doctor --replay "$MACHINES/vm-host-h100/machine.json"
expect_in "iommu=pt" "$out"
expect_exit 1 "$GPUREADY" vm doctor 17:00.0 --replay "$MACHINES/base-h100x1/machine.json"
expect_in "iommu-off" "$out"
# Quiet output leaves out notes and keeps the cure of what is wrong.
expect_exit 0 "$GPUREADY" vm doctor --quiet --replay "$MACHINES/vm-host-h100/machine.json"
expect_not_in "iommu-translates-all" "$out"
expect_exit 1 "$GPUREADY" vm doctor --quiet 17:00.0 --replay "$MACHINES/base-h100x1/machine.json"
expect_in "Cure: " "$out"
expect_exit 3 "$GPUREADY" vm doctor 99:00.0 --replay "$MACHINES/base-h100x1/machine.json"
# A log is data: nothing of it reaches the terminal as a command.
expect_exit 4 "$GPUREADY" vm doctor --console "$consoles/hostile.log"
[ "$(tr -cd '\033\001-\010' <stdout.txt | wc -c)" -eq 0 ] || die "control characters"
# A console tells of a guest alone.
expect_exit 2 "$GPUREADY" vm doctor 17:00.0 --console "$consoles/guest-ready.log"
expect_exit 2 "$GPUREADY" vm doctor --console "$consoles/guest-ready.log" --side host
expect_in "do not combine it with DEVICE or --side" "$err"
