# Writes the documents of `gpuready vm` that validate.py reads: vm_documents.sh FOLDER.
set -euo pipefail
. "$SOURCE/tests/vm/stub_driver.sh"
mkdir -p "$1"
work=$(mktemp -d "$1/vm.XXXXXX")
trap 'rm -rf "$work"' EXIT
make_stub_driver "$work/driver" 580.65.06
"$GPUREADY" vm drivers collect "$work/driver" -o "$work/bundle" --json="$1/vm-drivers.collect.json" >/dev/null
"$GPUREADY" vm initrd "$work/bundle" -o "$work/initrd" --guest "$GPUREADY" --json="$1/vm-initrd.new.json" >/dev/null
mkdir "$work/bundles"
"$GPUREADY" vm drivers upgrade "$work/bundles" "$work/driver" --json="$1/vm-upgrade.first.json" >/dev/null
make_stub_driver "$work/newer" 590.10.01
rm "$work"/newer/lib64/libnvidia-encode*
"$GPUREADY" vm drivers upgrade "$work/bundles" "$work/newer" --json="$1/vm-upgrade.refused.json" >/dev/null ||
  [ $? -eq 1 ]
"$GPUREADY" vm drivers list "$work/bundles" --json="$1/vm-drivers.list.json" >/dev/null
echo "use it well" >"$work/driver/LICENSE"
tar -czf "$work/driver.tar.gz" -C "$work/driver" .
# A file that is there is not fetched.
"$GPUREADY" vm drivers fetch http://127.0.0.1:1/driver.tar.gz -o "$work/driver.tar.gz" \
  --sha256 "$(sha256sum "$work/driver.tar.gz" | cut -c1-64)" --json="$1/vm-fetch.there.json" >/dev/null
echo x >>"$work/bundle/bin/nvidia-smi"
"$GPUREADY" vm drivers verify "$work/bundle" --json="$1/vm-drivers.verify.json" >/dev/null || [ $? -eq 1 ]
mkdir -p "$work/root/usr/lib64"
touch "$work/root/usr/lib64/libcuda.so.550.54.15"
for cuda in 12.4 99.0; do
  "$GPUREADY" vm compat --image-cuda $cuda --bundle "$work/bundle" --rootfs "$work/root" --gpu 10de:2330 \
    --json="$1/vm-compat.$cuda.json" >/dev/null || [ $? -eq 1 ] || [ $? -eq 4 ]
done
for log in guest-ready guest-bar-too-large hypeman-insmod-fails linux-off-the-bus; do
  "$GPUREADY" vm doctor --console "$SOURCE/tests/consoles/$log.log" --json="$1/vm-doctor.$log.json" >/dev/null ||
    [ $? -eq 1 ]
done
for machine in base-hgx-h100x8 vm-host-h100; do
  replay=(--replay "$SOURCE/tests/machines/$machine/machine.json")
  "$GPUREADY" vm show "${replay[@]}" --json="$1/vm-devices.$machine.json" >/dev/null
  "$GPUREADY" vm plan 17:00.0 --for guest "${replay[@]}" --json="$1/vm-operation.$machine.json" \
    >/dev/null || [ $? -eq 3 ]  # it is not in each of them
  "$GPUREADY" vm doctor "${replay[@]}" --side host --json="$1/vm-doctor.$machine.json" >/dev/null || [ $? -eq 1 ]
  "$GPUREADY" vm status "${replay[@]}" --json="$1/vm-status.$machine.json" >/dev/null
done
# What is attached, as the journal of a plan that was carried out says it.
jq --arg base "$(realpath --relative-to="$work" "$SOURCE/tests/machines/vm-host-h100/machine.json")" '
  {schema: "gpuready.machine-script", schema_version: 1, description: "attached", source: "vm plan", extends: $base,
   files: {"/var/lib/gpuready/vm/000001.1.attach.jsonl":
     ([{plan: .operations[0].plan, boot_id: "1"}, {end: "done"}] | map(tojson) | join("\n") + "\n")}}' \
  "$1/vm-operation.vm-host-h100.json" >"$work/attached.json"
for hypervisor in qemu libvirt cloud-hypervisor; do
  "$GPUREADY" vm args --for guest --hypervisor $hypervisor --replay "$work/attached.json" \
    --json="$1/vm-args.$hypervisor.json" >/dev/null
done
# A QEMU without devices.
python3 - "$work/qmp" <<'END' &
import socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.bind(sys.argv[1])
    server.listen()
    with server.accept()[0].makefile("rw") as monitor:
        print('{"QMP": {}}', file=monitor, flush=True)
        for _ in monitor:
            print('{"return": []}', file=monitor, flush=True)
END
until [ -S "$work/qmp" ] && "$GPUREADY" vm unplug --for guest --qmp "$work/qmp" --replay "$work/attached.json" \
  --json="$1/vm-hotplug.unplug.json" >/dev/null 2>&1; do sleep 0.01; done
"$GPUREADY" vm status --replay "$work/attached.json" --json="$1/vm-status.attached.json" >/dev/null
