. "$LIB"
# A host whose GPU was cut into vGPUs: a mediated device, and virtual functions with and without a type.
gpu=/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0
uuid=aa618089-8b16-4d01-a136-25a0f3c73123
jq -n --arg base "$(realpath --relative-to=. "$MACHINES/vm-host-h100/machine.json")" --arg gpu $gpu --arg uuid $uuid '
  def function($n; $type): "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.\($n)" as $f |
    {files: {($f + "/vendor"): "0x10de\n", ($f + "/device"): "0x2330\n", ($f + "/class"): "0x030200\n",
             ($f + "/reset_method"): "flr\n", ($f + "/nvidia/current_vgpu_type"): "\($type)\n",
             ($f + "/nvidia/creatable_vgpu_types"): "ID : vGPU Name\n1132 : NVIDIA H100-4C\n"},
     links: {("/sys/bus/pci/devices/0000:17:00.\($n)"): "../../../devices/pci0000:16/0000:16:01.0/0000:17:00.\($n)",
             ($f + "/driver"): "../../../../bus/pci/drivers/nvidia", ($f + "/physfn"): "../0000:17:00.0",
             ($f + "/iommu_group"): "../../../../kernel/iommu_groups/4\($n)"}};
  function(4; "1132") as $a | function(5; "0") as $b |
  {schema: "gpuready.machine-script", schema_version: 1, description: "vGPUs", extends: $base,
   source: "Linux, Documentation/driver-api/vfio-mediated-device.rst; NVIDIA vGPU software, vendor-specific VFIO framework",
   files: ($a.files + $b.files + {
     "\($gpu)/sriov_numvfs": "2\n",
     "\($gpu)/mdev_supported_types/nvidia-63/name": "GRID P40-2Q\n",
     "\($gpu)/mdev_supported_types/nvidia-63/device_api": "vfio-pci\n",
     "\($gpu)/mdev_supported_types/nvidia-63/available_instances": "3\n"}),
   links: ($a.links + $b.links + {
     "/sys/bus/mdev/devices/\($uuid)": "../../../devices/pci0000:16/0000:16:01.0/0000:17:00.0/\($uuid)",
     "\($gpu)/\($uuid)/mdev_type": "../mdev_supported_types/nvidia-63",
     "\($gpu)/\($uuid)/driver": "../../../../../bus/mdev/drivers/nvidia-vgpu-vfio",
     "\($gpu)/\($uuid)/iommu_group": "../../../../../kernel/iommu_groups/50"})}' >vgpu.json
replay=(--replay vgpu.json)
expect_exit 0 "$GPUREADY" vm list "${replay[@]}" --json=list.json
expect_in "GRID P40-2Q" "$out"
[ "$(jq -r '.instances[0] | .uuid, .parent, .readiness' list.json | xargs)" = "$uuid 0000:17:00.0 ready" ] || die "$(jq .instances list.json)"
[ "$(jq -r '.devices[] | select(.address == "0000:17:00.4") | .vgpu_type, .readiness' list.json | xargs)" = "1132 ready" ] ||
  die "$(jq .devices list.json)"
expect_exit 0 "$GPUREADY" vm show 17:00.5 "${replay[@]}"
expect_in "needs a vGPU type" "$out"
expect_in "1132 (NVIDIA H100-4C)" "$out"
# The GPU itself cannot go while its parts exist.
expect_exit 1 "$GPUREADY" vm plan 17:00.0 "${replay[@]}"
expect_in "2 virtual functions exist" "$out"
# Each is planned: nothing is unbound, and the plan is for any machine where none is named.
for device in $uuid ${uuid^^} 17:00.4; do
  expect_exit 0 "$GPUREADY" vm plan "$device" "${replay[@]}" --json=plan.json
  expect_in "for a virtual machine" "$out"
  [ "$(jq '[.operations[0].plan.steps[].act.kind | select(. == "unbind" or . == "bind" or . == "reset")] | length' plan.json)" = 0 ] ||
    die "$out"
done
expect_exit 3 "$GPUREADY" vm plan 00000000-0000-0000-0000-000000000000 "${replay[@]}"
expect_in "is not a mediated device of this machine" "$(tr '\n' ' ' <<<"$out")"
# The doctor looks at the device that it is a part of, and says how it wants others named.
expect_exit 0 "$GPUREADY" vm doctor ${uuid^^} --side host "${replay[@]}"
expect_exit 3 "$GPUREADY" vm doctor 00000000-0000-0000-0000-000000000000 --side host "${replay[@]}"
expect_in "is not a mediated device of this machine" "$err"
expect_exit 3 "$GPUREADY" vm doctor GPU-$uuid --side host "${replay[@]}"
expect_in "GPU-$uuid: no GPU here has this UUID" "$(echo $err)"
# Attached, as the journal of both says it.
expect_exit 0 "$GPUREADY" vm plan 17:00.4 $uuid --for web-1 "${replay[@]}" --json=plan.json
jq '.files["/var/lib/gpuready/vm/000001.1.attach.jsonl"] =
    ([{plan: $plan[0].operations[0].plan, boot_id: "1"}, {end: "done"}] | map(tojson) | join("\n") + "\n")' \
  --slurpfile plan plan.json vgpu.json >attached.json
expect_exit 0 "$GPUREADY" vm show --for web-1 --replay attached.json --json=show.json
[ "$(jq -r '.devices[].address, .instances[].uuid' show.json | xargs)" = "0000:17:00.4 $uuid" ] || die "$(cat show.json)"
expect_exit 0 "$GPUREADY" vm status --replay attached.json
expect_in "$uuid" "$out"
expect_exit 0 "$GPUREADY" vm args --for web-1 --replay attached.json
expect_in "vfio-pci,host=0000:17:00.4,bus=gpuready1,addr=00.0" "$out"
expect_in "vfio-pci,sysfsdev=/sys/bus/mdev/devices/$uuid,bus=gpuready2,addr=00.0" "$out"
expect_exit 0 "$GPUREADY" vm args --for web-1 --hypervisor cloud-hypervisor --replay attached.json
expect_in "path=/sys/bus/mdev/devices/$uuid/" "$out"
expect_exit 0 "$GPUREADY" vm args --for web-1 --hypervisor libvirt --replay attached.json
expect_in "type='mdev'" "$out"
libvirt_accepts "$out"
