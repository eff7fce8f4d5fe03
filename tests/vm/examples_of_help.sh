# The examples of help that bind devices to drivers, word for word: tests/cli/examples_of_help_run.sh requires that each
# is here. Two displays of AMD's vendor id have the address that they name, and the numbers 0 and 1.
. "$SOURCE/tests/vm/machine.sh"
prepare
devices=(-device intel-iommu,intremap=on -device pxb-pcie,id=host17,bus_nr=22,addr=2.0
  -device pcie-root-port,id=rp1,bus=host17,chassis=1,slot=1,addr=0.0 -device ati-vga,bus=rp1,romfile=
  -device pcie-root-port,id=rp2,bus=host17,chassis=2,slot=2,addr=1.0 -device ati-vga,bus=rp2,romfile=)
boot examples -vga std <<'END'
expect_exit 0 gpuready vm attach 0000:17:00.0 --for guest
expect "the display's driver" "$(driver 17:00.0)" vfio-pci
# No driver here can overwrite its memory.
expect_exit 1 gpuready vm detach --for guest
expect_in quarantine
expect "the display's driver" "$(driver 17:00.0)" ""
# As after a restart.
cat /proc/sys/kernel/random/uuid >/tmp/boot_id
mount --bind /tmp/boot_id /proc/sys/kernel/random/boot_id
expect_exit 0 gpuready vm hold
expect_in "0000:17:00.0"
expect "its override" "$(override 17:00.0)" gpuready-hold
expect_exit 0 gpuready vm hold --quiet
expect_in "1 device waits"
expect_exit 1 gpuready vm recover
expect_in quarantine
expect_exit 0 gpuready vm recover --accept 0000:17:00.0
expect "its override" "$(override 17:00.0)" "(null)"
expect_exit 0 gpuready vm status
expect_in "Nothing is attached"
# This machine has less memory than that.
expect_exit 1 gpuready vm attach 0 1 --for guest --hugepages 64
expect_in "nr_hugepages"
expect "the display's driver" "$(driver 17:00.0)" ""
expect_exit 0 gpuready vm attach 0 1 --for guest
expect "the display's driver" "$(driver 17:00.0)" vfio-pci
expect "the other's driver" "$(driver 18:00.0)" vfio-pci
expect_exit 1 gpuready vm detach 0000:17:00.0
expect "the display's driver" "$(driver 17:00.0)" ""
expect "the other's driver" "$(driver 18:00.0)" ""
END
expect_passed examples
