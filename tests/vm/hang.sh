# A driver never returns from its unbind: the time limit holds, nothing else is lost, and recover ends it
# when the driver has returned.
. "$SOURCE/tests/vm/machine.sh"
prepare
extra=$PWD/extra
rm -rf "$extra" module && mkdir -p "$extra" module
build_modules module "$SOURCE/tests/vm/stub_hang.c" nvidia
cp module/nvidia.ko "$extra/"
boot hang <<END
insmod /nvidia.ko; modprobe e1000e
stub=0000:00:05.0 card=0000:$card
expect "the stub" "\$(driver 00:05.0)" nvidia
# Held by nobody: there and back.
expect_exit 0 gpuready vm attach \$stub --for guest
expect_exit 0 gpuready vm detach --for guest
expect "the stub" "\$(driver 00:05.0)" nvidia

echo 1 >/sys/module/nvidia/parameters/hold
expect_exit 4 gpuready vm attach \$card \$stub --for guest --timeout 3
expect_in "did not return within 3 s; it waits in msleep"
expect "the card's driver" "\$(driver $card)" e1000e
expect_exit 4 gpuready vm status
expect_in "vm recover"
# Nobody can have either meanwhile.
expect_exit 1 gpuready vm attach \$card --for guest
expect_in "needs cleaning"
echo 0 >/sys/module/nvidia/parameters/hold
sleep 1
expect_exit 0 gpuready vm recover
expect "the stub" "\$(driver 00:05.0)" nvidia
expect "the card's driver" "\$(driver $card)" e1000e
expect_exit 0 gpuready vm status
expect_in "Nothing is attached"
expect_exit 0 gpuready vm attach \$card \$stub --for guest
expect_exit 0 gpuready vm detach --for guest

# Another program unbinds it, and the driver does not return: nothing of ours waits, and the lock is free.
echo 1 >/sys/module/nvidia/parameters/hold
echo \$stub >/sys/bus/pci/drivers/nvidia/unbind & sleep 1
expect_exit 1 timeout -s KILL 40 gpuready vm attach \$stub --for guest --timeout 3
expect_in "needs a look:"
expect_in "5.0/driver_override: the driver did not"
expect_exit 1 timeout -s KILL 40 gpuready vm plan \$stub --for guest
expect_exit 0 timeout -s KILL 40 gpuready vm attach \$card --for other --timeout 3
expect_exit 0 timeout -s KILL 40 gpuready vm detach --for other --timeout 3
echo 0 >/sys/module/nvidia/parameters/hold; wait
echo \$stub >/sys/bus/pci/drivers/nvidia/bind
expect_exit 0 gpuready vm attach \$card \$stub --for guest
expect_exit 0 gpuready vm detach --for guest
END
expect_passed hang
