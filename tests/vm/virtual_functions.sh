# Virtual functions of an NVMe controller: one goes to a guest and comes back, the physical function stays where
# it is, and is in use as long as it has them.
. "$SOURCE/tests/vm/machine.sh"
prepare
truncate -s 16M nvme.img
boot functions -drive file=nvme.img,format=raw,if=none,id=n \
  -device pcie-root-port,id=rp4,chassis=4,slot=4,addr=7.0 -device nvme-subsys,id=subsystem \
  -device nvme,serial=n,subsys=subsystem,bus=rp4,max_ioqpairs=6,msix_qsize=7,sriov_max_vfs=2,sriov_vq_flexible=4,sriov_vi_flexible=2 \
  -device nvme-ns,drive=n,nsid=1 <<'END'
modprobe nvme
whole=0000:05:00.0 one=0000:05:00.1 two=0000:05:00.2
until [ -e /dev/nvme0n1 ]; do sleep 1; done
expect "the controller's driver" "$(driver 05:00.0)" nvme
echo 0 >/sys/bus/pci/devices/$whole/sriov_drivers_autoprobe  # nvme takes none that has no queues
echo 2 >/sys/bus/pci/devices/$whole/sriov_numvfs
expect_exit 1 gpuready vm attach $whole --for guest
expect_in "virtual function"
expect "the controller's driver" "$(driver 05:00.0)" nvme

expect_exit 0 gpuready vm attach $one --for guest
expect "the virtual function's driver" "$(driver 05:00.1)" vfio-pci
expect "the controller's driver" "$(driver 05:00.0)" nvme
expect "the other one's driver" "$(driver 05:00.2)" ""
[ -e /dev/nvme0n1 ]
expect_exit 0 gpuready vm args --for guest
expect_in "host=$one"
expect_exit 0 gpuready vm detach --for guest
expect "the virtual function's driver" "$(driver 05:00.1)" ""
expect "its override" "$(override 05:00.1)" "(null)"

# The controller takes its functions back while a guest has one: it is gone, and can be let go.
expect_exit 0 gpuready vm attach $two --for guest
echo 0 >/sys/bus/pci/devices/$whole/sriov_numvfs
[ ! -e /sys/bus/pci/devices/$two ]
expect_exit 0 gpuready vm status
expect_in "gone: .*$two"
expect_exit 0 gpuready vm detach --for guest
expect_exit 0 gpuready vm status
expect_in "Nothing is attached"

# Without functions it is a device like any other.
expect_exit 0 gpuready vm attach $whole --for guest
expect "the controller's driver" "$(driver 05:00.0)" vfio-pci
[ ! -e /dev/nvme0n1 ]
expect_exit 0 gpuready vm detach --for guest
expect "the controller's driver" "$(driver 05:00.0)" nvme
until [ -e /dev/nvme0n1 ]; do sleep 1; done
END
expect_passed functions
