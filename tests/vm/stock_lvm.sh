# A guest whose root is a logical volume of LVM, as Debian's and RHEL's installers make it: lvm2 in a virtual machine
# makes it over two disks, our init maps it by each of its names, and the system's own LVM takes it over. By hand:
# minutes. stock_lvm.sh [SUITE], in a folder of its own with $GPUREADY, $SOURCE and $VM_BASE.
. "$SOURCE/tests/vm/machine.sh"
. "$SOURCE/tests/vm/stub_driver.sh"
. "$SOURCE/tests/vm/stock_root.sh"
suite=${1:-bookworm}
prepare
rm -rf driver bundle modules ./*.img
uuid=0f0e0d0c-0b0a-4908-8706-050403020100
stock_root "$suite" lvm2
printf '/dev/mapper/stock--vg-root / ext4 errors=remount-ro 0 1\n/dev/mapper/stock--vg-home /home ext4 defaults 0 2\n' \
  >"$suite/etc/fstab"
stock_unit "$suite" 'findmnt -no SOURCE /; findmnt -no SOURCE /home; lvs --noheadings -o lv_name,lv_active,devices
  readlink -f /dev/disk/by-label/stock-root; systemctl --failed --no-legend; echo asked'
truncate -s 700M root.img && mkfs.ext4 -q -L stock-root -U $uuid -d "$suite" root.img

# A disk with a partition from 20 MiB to its end (an MBR of type 8e), and one that is a physical volume as a whole.
truncate -s 500M first.img && truncate -s 500M second.img
printf '\0\0\0\0\x8e\0\0\0\0\xa0\0\0\0\0\x0f\0' | dd of=first.img bs=1 seek=446 conv=notrunc status=none
printf '\x55\xaa' | dd of=first.img bs=1 seek=510 conv=notrunc status=none
image() { echo "-drive file=$1.img,format=raw,if=none,id=$1 -device virtio-blk-pci,drive=$1"; }
# shellcheck disable=SC2046
limit_s=600 boot make $(image root) $(image first) $(image second) <<'GUEST'
modprobe virtio_pci; modprobe virtio_blk; modprobe crc32c_generic; modprobe ext4; modprobe dm_mod
mount -t ext4 -o ro /dev/vda /mnt
for folder in dev proc sys; do mount --bind /$folder /mnt/$folder; done
for folder in run tmp etc/lvm; do mount -t tmpfs tmpfs /mnt/$folder; done
export DM_DISABLE_UDEV=1 PATH=/bin:/sbin:/usr/bin:/usr/sbin
chroot /mnt /bin/sh -euxc 'pvcreate -q /dev/vdb1 /dev/vdc
vgcreate -q stock-vg /dev/vdb1 /dev/vdc
lvcreate -q -y -Wn -Zn -n root -L 300M stock-vg /dev/vdb1
lvcreate -q -y -Wn -Zn -n home -L 32M stock-vg /dev/vdb1
lvextend -q -L 700M stock-vg/root
lvs --segments -o lv_name,seg_type,seg_pe_ranges
dd if=/dev/vda of=/dev/mapper/stock--vg-root bs=1M conv=sparse,fsync
mkfs.ext4 -q /dev/mapper/stock--vg-home
vgchange -an stock-vg'
GUEST
expect_passed make
rm root.img
stock_initrd --module dm_mod

disks=$(image first; image second)
for name in UUID=$uuid /dev/mapper/stock--vg-root /dev/stock-vg/root; do
  log=boot.${name//[^a-zA-Z]/}
  boot_disk "$log" "$disks" "root=$name"
  has "$log" "ok root $name: .*mounted as ext4"
  has "$log" "^/dev/mapper/stock--vg-root"
  has "$log" "^/dev/mapper/stock--vg-home"
  has "$log" "^ *root *active */dev/vda1([0-9]*)"
  has "$log" "^ *root *active */dev/vdb([0-9]*)"
  has "$log" "^/dev/dm-0"
  ! grep -q "failed failed" "$log.log" || die "a unit failed"
  echo "$suite, $name: passed"
done
# A name that does not exist: the message lists those that do.
boot_disk none "$disks" "root=/dev/mapper/stock--vg-other"
has none "FAIL root /dev/mapper/stock--vg-other: no disk has this name; found: .*/dev/mapper/stock--vg-root"
