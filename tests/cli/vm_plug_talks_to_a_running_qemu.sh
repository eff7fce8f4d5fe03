. "$LIB"
# What is attached in a recording is not here, so a real QEMU refuses it. A QEMU with no empty port is refused before.
command -v qemu-system-x86_64 >/dev/null || skip "needs qemu-system-x86_64"
trap 'kill $(jobs -p) 2>/dev/null' EXIT
attached_machine host.json
expect_exit 1 "$GPUREADY" vm plug --for web-1 --qmp none --replay host.json
expect_in "its driver is nvidia and not VFIO's" "$err"
vfio_machine host.json attached.json
plug() { expect_exit "$1" "$GPUREADY" vm "${@:2}" --for web-1 --replay attached.json; }
plug 3 plug --qmp none
expect_in "none: No such file or directory; start QEMU with -qmp unix:none,server=on,wait=off" "$err"
monitor few
plug 1 plug --qmp few
expect_in "1 slots need an empty port each, and the virtual machine has 0: start QEMU with -device pcie-root-port" "$err"
plug 0 unplug --qmp few --json=hotplug.json
[ "$(jq -r '.name, (.devices[] | .device, .state)' hotplug.json | xargs)" = "web-1 0000:17:00.0 not_plugged 0000:17:00.1 not_plugged" ] ||
  die "$(cat hotplug.json)"
monitor port -device pcie-root-port,id=port1,chassis=1
plug 1 plug --qmp port
expect_in "QEMU: device_add: vfio " "$err"
expect_exit 3 "$GPUREADY" vm plug --for web-2 --qmp port --replay attached.json
