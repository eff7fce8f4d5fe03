# What the machine or somebody needs is refused, and nothing is touched.
. "$SOURCE/tests/vm/machine.sh"
prepare
truncate -s 16M nvme.img
mkfs.ext4 -q nvme.img
boot refusals -vga std -drive file=nvme.img,format=raw,if=none,id=n -device nvme,drive=n,serial=n,addr=6.0 <<END
modprobe e1000e; modprobe snd_hda_intel; modprobe nvme; modprobe crc32c_generic; modprobe ext4
sleep 1
vga=\$(basename \$(dirname \$(grep -l 1 /sys/bus/pci/devices/*/boot_vga)))
expect_exit 1 gpuready vm attach \$vga --for guest
expect_in "boot display"

mount -t ext4 /dev/nvme0n1 /mnt
expect_exit 1 gpuready vm attach 0000:00:06.0 --for guest
expect_in "nvme0n1 is in use: /mnt"
expect "the disk's driver" "\$(driver 00:06.0)" nvme
umount /mnt
sleep 100 </dev/nvme0n1 & holder=\$!
expect_exit 1 gpuready vm attach 0000:00:06.0 --for guest
expect_in "process \$holder (sleep) holds /dev/nvme0n1 open"
kill \$holder; wait \$holder || true
expect_exit 0 gpuready vm attach 0000:00:06.0 --for guest
expect "the disk's driver" "\$(driver 00:06.0)" vfio-pci
# A virtual machine holds it.
sleep 100 <>"/dev/vfio/\$(basename \$(readlink /sys/bus/pci/devices/0000:00:06.0/iommu_group))" & holder=\$!
sleep 1
expect_exit 1 gpuready vm detach --for guest
expect_in "holds /dev/vfio"
expect "the disk's driver" "\$(driver 00:06.0)" vfio-pci
kill \$holder; wait \$holder || true
expect_exit 0 gpuready vm detach --for guest
expect "the disk's driver" "\$(driver 00:06.0)" nvme

ip link set eth0 up
expect_exit 1 gpuready vm attach 0000:$card --for guest
expect_in "network interface eth0"
expect "the card's driver" "\$(driver $card)" e1000e
expect_exit 0 gpuready vm status
expect_in "Nothing is attached"
# Another program could say that a device in quarantine is clean.
for act in "attach 0000:$card --for guest" "detach --for guest" recover hold; do
  expect_exit 2 env GPUREADY_HELPER=/bin/true gpuready vm \$act
  expect_in "GPUREADY_HELPER=/bin/true: a command that changes devices uses its own program"
done
# An ordinary user may look and not touch.
echo "nobody:x:65534:65534::/:/bin/sh" >/etc/passwd
expect_exit 2 su -s /bin/sh nobody -c "gpuready vm attach 0000:$card --for guest"
expect_in "only root"
expect_exit 0 su -s /bin/sh nobody -c "gpuready vm list"
expect_in "only root may see what is attached"
expect "the card's driver" "\$(driver $card)" e1000e
END
expect_passed refusals
