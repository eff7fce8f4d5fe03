# Devices go to vfio-pci and come back as they were: with and without a driver, of several functions, in a
# shared group.
. "$SOURCE/tests/vm/machine.sh"
prepare
boot bind <<END
modprobe e1000e; modprobe e1000; modprobe snd_hda_intel
gpu=0000:$gpu audio=0000:$audio card=0000:$card first=0000:$first second=0000:$second
expect "the card's driver" "\$(driver $card)" e1000e
expect "the audio function's driver" "\$(driver $audio)" snd_hda_intel
was=\$(cat /sys/bus/pci/devices/\$card/power/control)

# The display has no reset of its own: VFIO resets it with its audio function.
echo "resets: \$(cat /sys/bus/pci/devices/\$gpu/reset_method)"
expect_exit 0 gpuready vm show \$gpu
expect_in "Reset  *through VFIO, with all functions on its bus"
expect_exit 0 gpuready vm plan \$gpu --for guest
expect_in "Reset \$gpu \$audio together, through VFIO"
expect_exit 0 gpuready vm plan \$card --for guest
expect "the card's driver after the plan" "\$(driver $card)" e1000e
expect_exit 0 gpuready vm attach \$card --for guest-1
expect "the card's driver" "\$(driver $card)" vfio-pci
expect_exit 0 gpuready vm attach \$gpu --for guest-2
expect "the display's driver" "\$(driver $gpu)" vfio-pci
expect "the audio function's driver" "\$(driver $audio)" vfio-pci
expect_exit 0 gpuready vm attach \$first --for guest-3
expect "the other one's driver" "\$(driver $second)" vfio-pci
expect_exit 0 gpuready vm attach 0000:00:05.0 --for guest-4
ls /dev/vfio
expect_exit 0 gpuready vm status
expect_in guest-3
expect_exit 1 gpuready vm attach \$card --for guest-5
expect_in "attached to guest-1"

expect_exit 0 gpuready vm detach --for guest-1
expect "the card's driver" "\$(driver $card)" e1000e
expect "its override" "\$(override $card)" "(null)"
expect "its power" "\$(cat /sys/bus/pci/devices/\$card/power/control)" "\$was"
# A display has memory that no driver here can overwrite: it comes back, and stays in quarantine.
expect_exit 1 gpuready vm detach --for guest-2
expect_in quarantine
expect_in "done:  *Reset \$gpu \$audio together, through VFIO"
expect "the audio function's driver" "\$(driver $audio)" snd_hda_intel
expect "the display's driver" "\$(driver $gpu)" ""
expect_exit 1 gpuready vm attach \$gpu --for guest-5
expect_in "needs cleaning"
expect_exit 0 gpuready vm recover --accept \$gpu
expect_exit 0 gpuready vm detach \$second
expect "the other one's driver" "\$(driver $second)" e1000
expect_exit 0 gpuready vm detach --for guest-4
expect "the device without a driver" "\$(driver 00:05.0)" ""
expect_exit 0 gpuready vm status
expect_in "Nothing is attached"
expect "the journal" "\$(ls /var/lib/gpuready/vm)" lock

# The reset reaches the hardware: a register of the audio function that a guest has set (GCTL, bit 0).
rmmod snd_hda_intel
register=\$((\$(sed -n '1s/ .*//p' /sys/bus/pci/devices/\$audio/resource) + 8))
decode() { printf '\\006' | dd of=/sys/bus/pci/devices/\$audio/config bs=1 seek=4 conv=notrunc 2>/dev/null; }
expect_exit 0 gpuready vm attach \$gpu --for guest-6
decode
devmem \$register 32 1
expect "the register of the guest" "\$(devmem \$register 32)" 0x00000001
expect_exit 1 gpuready vm detach --for guest-6
decode
expect "the register behind the reset" "\$(devmem \$register 32)" 0x00000000
END
expect_passed bind
