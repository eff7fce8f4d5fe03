# A claim knows its devices: when a card in front moves the addresses, when one is gone, and when one fails, the
# others come back, and no other device is mistaken for one of them.
. "$SOURCE/tests/vm/machine.sh"
prepare
make_disk
extra=$PWD/extra
rm -rf "$extra" module && mkdir -p "$extra" module
build_modules module "$SOURCE/tests/vm/stub_hang.c" nvidia
cp module/nvidia.ko "$extra/"
boot before "${disk[@]}" <<END
insmod /nvidia.ko; modprobe e1000e; modprobe e1000; modprobe snd_hda_intel
gpu=0000:$gpu card=0000:$card first=0000:$first stub=0000:00:05.0
# One of four is dead: the others return.
expect_exit 0 gpuready vm attach \$card \$first \$stub --for guest
echo 1 >/sys/bus/pci/devices/\$card/remove
expect_exit 0 gpuready vm status
expect_in "gone: .*\$card"
expect_exit 0 gpuready vm args --for guest
expect_in "it is no longer there"
expect_exit 0 gpuready vm detach --for guest
expect "the other one's driver" "\$(driver $first)" e1000
expect "the stub" "\$(driver 00:05.0)" nvidia
echo 1 >/sys/bus/pci/rescan; sleep 1
expect "the card's driver" "\$(driver $card)" e1000e
# A display that is gone may come back with what a guest left: it stays in quarantine, or is let go.
expect_exit 0 gpuready vm attach \$gpu \$first --for guest
echo 1 >/sys/bus/pci/devices/\$gpu/remove
expect_exit 1 gpuready vm detach --for guest
expect_in "is no longer in this machine"
expect "the other one's driver" "\$(driver $first)" e1000
echo 1 >/sys/bus/pci/rescan; sleep 1
expect_exit 1 gpuready vm attach \$gpu --for guest
expect_in "needs cleaning"
echo 1 >/sys/bus/pci/devices/\$gpu/remove
expect_exit 0 gpuready vm recover --accept \$gpu
expect_exit 0 gpuready vm status
expect_in "Nothing is attached"
echo 1 >/sys/bus/pci/rescan; sleep 1
# A driver that cannot be loaded keeps only its own device; one that was unloaded is loaded.
expect_exit 0 gpuready vm attach \$card \$first --for guest
echo \$card >/sys/bus/pci/drivers/vfio-pci/unbind
echo none >/sys/bus/pci/devices/\$card/driver_override
rmmod e1000e
mv /bin/modprobe /bin/hidden
expect_exit 4 gpuready vm detach --for guest
expect_in "left: *Bind \$card to e1000e"
expect "the other one's driver" "\$(driver $first)" e1000
expect_exit 0 gpuready vm attach \$first --for other
expect_exit 0 gpuready vm detach --for other
mv /bin/hidden /bin/modprobe
expect_exit 0 gpuready vm recover
expect "the card's driver" "\$(driver $card)" e1000e
expect_exit 0 gpuready vm status
expect_in "Nothing is attached"

expect_exit 0 gpuready vm attach \$gpu --for tenant
expect_exit 1 gpuready vm detach --for tenant
expect_in quarantine
expect_exit 0 gpuready vm attach \$card --for guest
sync
END
expect_passed before
# Another display in front takes the first bus: all others move.
# What a restart left undecided is held before its driver loads, until recover.
boot after "${disk[@]}" -device pcie-root-port,id=rp0,chassis=9,slot=9,addr=1.0 -device bochs-display,bus=rp0 <<END
expect_exit 0 gpuready vm hold
expect_in "Hold 0000:03:00.0"
modprobe e1000e
expect "the card's driver" "\$(driver 03:00.0)" ""
expect "the card's override" "\$(override 03:00.0)" gpuready-hold
expect "the override of the display in front" "\$(override $gpu)" "(null)"
ls /sys/bus/pci/devices
expect "what is at the display's old address" "\$(cat /sys/bus/pci/devices/0000:$gpu/class)" 0x038000
expect_exit 0 gpuready vm plan 0000:$gpu --for guest
expect_exit 1 gpuready vm plan 0000:02:00.0 --for guest
expect_in "needs cleaning"
expect_exit 1 gpuready vm plan 0000:03:00.0 --for guest
expect_in "attached to guest"
expect_exit 1 gpuready vm recover
expect "the card's driver" "\$(driver 03:00.0)" e1000e
expect "the overrides" "\$(override 02:00.0) \$(override 03:00.0)" "(null) (null)"
expect_exit 0 gpuready vm hold
expect_exit 1 gpuready vm plan 0000:02:00.0 --for guest
expect_in "needs cleaning"
expect_exit 0 gpuready vm recover --accept 0000:02:00.0
expect_exit 0 gpuready vm status
expect_in "Nothing is attached"
expect_exit 0 gpuready vm plan 0000:02:00.0 --for guest
END
expect_passed after
