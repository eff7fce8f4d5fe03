. "$LIB"
# One file of a recorded host is spoiled; the device is not ready, and the message names the file, what is wrong, the cure.
folder=/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0
spoil() {  # PATH JSON_VALUE: bad.json
  jq -n --arg base "$(realpath --relative-to=. "$MACHINES/vm-host-h100/machine.json")" --arg path "$1" --argjson value "$2" \
    '{schema: "gpuready.machine-script", schema_version: 1, description: "spoiled", source: "test", extends: $base, files: {($path): $value}}' >bad.json
}
while read -r file value text; do
  spoil "$folder/$file" "$value"
  expect_exit 0 "$GPUREADY" vm show 17:00.0 --replay bad.json --json -
  [ "$(jq -r '.devices[0].readiness' <<<"$out")" = needs ] || die "$file $value: $out"
  expect_in "$text" "$(jq -r '.devices[0].reason' <<<"$out")"
  expect_in "ask again" "$(jq -r '.devices[0].cure' <<<"$out")"
  expect_exit 1 "$GPUREADY" vm plan 17:00.0 --replay bad.json
  expect_in "needs a look" "$(echo $out $err)"
done <<'CASES'
sriov_numvfs "x" 0000:17:00.0/sriov_numvfs says "x" instead of a count
sriov_numvfs {"error":"EIO"} 0000:17:00.0/sriov_numvfs: Input/output error
modalias "pci:v000010DEd00001234sv000010DEsd000016C1bc03sc02i00" which does not fit vendor 10de, device 2330
boot_vga "maybe" boot_vga says "maybe" instead of 0 or 1
CASES
# The function that goes along cannot be read: nobody knows what it is.
folder=${folder%0}1
spoil $folder/class '{"error":"ENODEV"}'
expect_exit 0 "$GPUREADY" vm show 17:00.0 --replay bad.json --json -
[ "$(jq -r '.devices[0].readiness' <<<"$out")" = needs ] || die "$out"
expect_in "0000:17:00.1: its class, vendor or device cannot be read" "$out"
