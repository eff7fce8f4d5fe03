. "$LIB"
# A machine on which an attach was carried out: the journal holds its plan, and VFIO has the devices.
attached_machine() {  # FILE [OPTION...]
  local file=$1
  shift
  expect_exit 0 "$GPUREADY" vm plan 17:00.0 --for web-1 "$@" --replay "$MACHINES/vm-host-h100/machine.json" --json=plan.json
  jq --arg base "$(realpath --relative-to=. "$MACHINES/vm-host-h100/machine.json")" '
    {schema: "gpuready.machine-script", schema_version: 1, description: "attached", source: "vm plan", extends: $base,
     files: {"/var/lib/gpuready/vm/000001.1.attach.jsonl":
       ([{plan: .operations[0].plan, boot_id: "1"}, {end: "done"}] | map(tojson) | join("\n") + "\n")}}' \
    plan.json >"$file"
}
attached_machine attached.json
expect_exit 0 "$GPUREADY" vm show --for web-1 --replay attached.json --json=show.json
[ "$(jq -r '[.devices[].address] | join(" ")' show.json)" = "0000:17:00.0 0000:17:00.1" ] || die "other devices"
expect_exit 0 "$GPUREADY" vm args --for web-1 --replay attached.json --json=args.qemu.json
expect_in "vfio-pci,host=0000:17:00.0" "$out"
expect_in "opt/ovmf/X-PciMmio64Mb" "$out"
expect_exit 3 "$GPUREADY" vm args --for web-2 --replay attached.json
attached_machine managed.json --managed
for managed in attached managed; do
  expect_exit 0 "$GPUREADY" vm args --for web-1 --hypervisor libvirt --replay $managed.json
  libvirt_accepts "$out"
  [ "$(grep -c '<hostdev .*>$' domain.xml)" -eq 3 ] || die "not two devices in XML: $out"
done
expect_in "managed='yes'" "$out"
# What is not as it was left: the driver has it again, it is gone, its journal is damaged.
expect_exit 0 "$GPUREADY" vm args --for web-1 --replay attached.json
expect_in "# 0000:17:00.0 is attached, but its driver is nvidia" "$out"
jq '.files[] |= gsub("0000:17:00"; "0000:ff:00")' attached.json >gone.json
expect_exit 3 "$GPUREADY" vm args --for web-1 --replay gone.json
expect_in "web-1: 0000:ff:00.0 is attached, and it is no longer there" "$err"
for damage in '""' '"\u0000\u0000\u0000"' '{"error":"EACCES"}'; do
  jq --argjson damage "$damage" '.files[] = $damage' attached.json >damaged.json
  expect_exit 1 "$GPUREADY" vm plan 17:00.0 --for web-2 --replay damaged.json
  expect_in "000001.1.attach.jsonl" "$out"
  expect_exit 4 "$GPUREADY" vm status --replay damaged.json
  expect_exit 3 "$GPUREADY" vm args --for web-1 --replay damaged.json
  expect_in "it is not known what it has" "$err"
done
