# The shipped units in a Debian with systemd: a device that a virtual machine had at a power cut is held while udev loads
# its driver, until vm recover has returned it. By hand: needs debootstrap and the network. boot_units.sh [SUITE], in a
# folder of its own with $GPUREADY, $SOURCE and $VM_BASE.
. "$SOURCE/tests/vm/machine.sh"
. "$SOURCE/tests/vm/stub_driver.sh"
. "$SOURCE/tests/vm/stock_root.sh"
suite=${1:-bookworm}
prepare
rm -rf driver bundle modules host ./*.img
stock_root "$suite"
cp -a "$suite" host
strip -o host/usr/bin/gpuready "$GPUREADY"
cp "$SOURCE"/src/products/vm/systemd/*.service host/etc/systemd/system/
mkdir -p host/etc/systemd/system/{sysinit,multi-user}.target.wants host/lib/modules
cp -r "$VM_BASE/root/lib/modules/$release" host/lib/modules/
unit() { # NAME AFTER BEFORE SCRIPT: says on the console what it sees
  printf '[Unit]\nWants=systemd-udev-settle.service\nAfter=%s\nBefore=%s\n[Service]\nType=oneshot\nExecStart=sh /%s.sh\nStandardOutput=tty\nTTYPath=/dev/ttyS0\n' \
    "$2" "$3" "$1" >"host/etc/systemd/system/$1.service"
  echo "$4" >"host/$1.sh"
  ln -sf "../$1.service" "host/etc/systemd/system/multi-user.target.wants/$1.service"
}
link() { ln -sf "../gpuready-vm-$2.service" "host/etc/systemd/system/$1.target.wants/gpuready-vm-$2.service"; }
link sysinit hold
link multi-user recover
card=/sys/bus/pci/devices/0000:02:00.0
see="\$(basename \"\$(readlink $card/driver)\") override=\$(cat $card/driver_override) module=\$(ls -d /sys/module/e1000e)"
unit seen systemd-udev-settle.service gpuready-vm-recover.service "echo \"before recover: driver=$see\""
unit last "gpuready-vm-recover.service systemd-udev-settle.service" getty.target "echo \"after recover: driver=$see\"
if [ -e /cut ]; then systemctl --no-legend list-units --failed 'gpuready*'; systemctl poweroff -f -f; fi
gpuready vm attach 0000:02:00.0 --for guest && touch /cut && sync && echo b >/proc/sysrq-trigger"
ln -s /dev/null host/etc/systemd/system/serial-getty@ttyS0.service # it would take the console away
truncate -s 800M root.img && mkfs.ext4 -q -L stock-root -d host root.img
stock_initrd
boot_host() {
  timeout 900 nice qemu-system-x86_64 -machine q35,kernel-irqchip=split -accel tcg,thread=multi -cpu max -smp 2 -m 1024 \
    -display none -serial "file:$1.log" -monitor none -no-reboot -nic none -vga none -kernel "$kernel" -initrd driver.img \
    "${quick[@]}" "${devices[@]}" -drive file=root.img,format=raw,if=none,id=root -device virtio-blk-pci,drive=root,addr=1e.0 \
    -append "$kernel_words intel_iommu=on iommu=pt root=LABEL=stock-root" </dev/null || true
}
boot_host first
has first "before recover: driver=e1000e override=(null) module=/sys/module/e1000e"
has first "is attached for guest"
boot_host second
has second "before recover: driver= override=gpuready-hold module=/sys/module/e1000e"
has second "after recover: driver=e1000e override=(null)"
! grep -a "gpuready-vm.*failed" second.log || die "a unit failed"
echo "held and recovered by the units"
