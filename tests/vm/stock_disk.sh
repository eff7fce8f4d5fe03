# A guest from a stock disk: Debian with systemd (debootstrap) on a partition of its own, found by its UUID and by its
# LABEL, takes over from our init, and a unit of its own asks for the driver's firmware. Needs Debian's mirror.
# stock_disk.sh [SUITE [virtio|nvme|ahci...]] (bookworm, virtio), in a folder of its own with $GPUREADY, $SOURCE and
# $VM_BASE. stock_disks.sh boots all.
. "$SOURCE/tests/vm/machine.sh"
. "$SOURCE/tests/vm/stub_driver.sh"
. "$SOURCE/tests/vm/stock_root.sh"
suite=${1:-bookworm}
controllers=("${@:2}")
[ $# -gt 1 ] || controllers=(virtio)
prepare
rm -rf driver bundle modules ./*.img
uuid=0f0e0d0c-0b0a-4908-8706-050403020100
stock_root "$suite"
stock_unit "$suite" 'cat /proc/driver/nvidia/firmware
/usr/lib/nvidia/bin/nvidia-smi && findmnt -no SOURCE / && echo asked'
truncate -s 700M root.img && mkfs.ext4 -q -L stock-root -U $uuid -d "$suite" root.img

stock_initrd
disk="-drive file=root.img,format=raw,if=none,id=root -device"
for name in "${controllers[@]}"; do
  case $name in
  virtio) boot_disk virtio "$disk virtio-blk-pci,drive=root" "root=UUID=$uuid" ;;
  nvme) boot_disk nvme "$disk nvme,drive=root,serial=1" "root=LABEL=stock-root" ;;
  ahci) boot_disk ahci "$disk ide-hd,drive=root" "root=UUID=$uuid" ;;
  *) die "no such controller: $name" ;;
  esac
  has $name "ok root .*mounted as ext4"
  has $name "ok ready gpu: GPU ready"
  has $name "firmware of 22 bytes"
  has $name "asked"
  has $name "login:"
  echo "$suite, $name: passed"
done
