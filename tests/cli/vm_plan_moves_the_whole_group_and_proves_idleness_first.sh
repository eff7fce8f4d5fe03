. "$LIB"
machine="$MACHINES/vm-host-h100/machine.json"
expect_exit 0 "$GPUREADY" vm list --replay "$machine" --json=list.json
expect_in "2 of 2 devices can be given to a virtual machine" "$out"
expect_exit 0 "$GPUREADY" vm plan 17:00.0 --for web-1 --hugepages 2 --replay "$machine" --json=plan.json
jq -r '.operations[0].plan.steps[].what' plan.json >steps.txt
cat >wanted.txt <<'END'
Prove that only the services use the devices
Stop nvidia-persistenced.service
Load the module vfio-pci
Switch persistence mode of 0000:17:00.0 off
Prove that no process uses the devices
Keep 0000:17:00.0 awake
Forbid 0000:17:00.0 to lose power
Unbind 0000:17:00.0 from nvidia
Unbind 0000:17:00.1 from snd_hda_intel
Note the VBIOS of 0000:17:00.0
Reset 0000:17:00.0 (flr)
Reserve 0000:17:00.0 for vfio-pci
Bind 0000:17:00.0 to vfio-pci
Reserve 0000:17:00.1 for vfio-pci
Bind 0000:17:00.1 to vfio-pci
Reserve 512 huge pages of 2 MiB on NUMA node 0
END
diff wanted.txt steps.txt || die "other steps"
# All that can be taken back says how.
jq -e '[.operations[0].plan.steps[] | select(.what | test("^(Unbind|Bind|Let|Keep|Forbid|Stop)")) | .undo != null] | all' plan.json >/dev/null || die "no undo"
expect_exit 0 "$GPUREADY" vm plan 17:00.0 --managed --replay "$machine" --json=managed.json
jq -e '[.operations[0].plan.steps[].act.kind] | index("unbind") == null and index("bind") == null' managed.json >/dev/null || die "libvirt binds"
