. "$LIB"
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
