# Holders that no process's descriptor of the device shows: requests of io_uring, mount namespaces without a process, the
# kernel's own exports, a network interface in another namespace. Each is refused; without it the device goes.
. "$SOURCE/tests/vm/machine.sh"
prepare
extra=$PWD/extra
limit_s=300
rm -rf "$extra" && mkdir -p "$extra/bin" shared
gcc -O1 -static -pthread -o "$extra/bin/hold" "$SOURCE/tests/vm/hold.c" || skip "no static C library"
truncate -s 16M nvme.img
mkfs.minix nvme.img >/dev/null
(echo "card=0000:$card" && cat <<'T'
modprobe e1000e; modprobe nvme; modprobe virtio_pci; modprobe virtio_console; modprobe 9pnet_virtio; modprobe 9p; modprobe minix
modprobe loop
sleep 1
nvme=0000:00:06.0 console=0000:00:07.0 share=0000:00:08.0
start() {  # WORDS: waits until it is held
  "$@" >/tmp/held 2>&1 & holder=$!
  for second in 1 2 3 4 5 6 7 8; do grep -q held /tmp/held && return 0; sleep 1; done
  cat /tmp/held; exit 1
}
end() { kill -9 $holder; wait $holder || true; }
refused() {  # DEVICE NAME WHAT_IS_TOLD
  expect_exit 1 gpuready vm attach $1 --for guest --timeout 10
  expect_in "$3"
  echo "refused: $2"
}
disk_goes() {
  expect_exit 0 gpuready vm attach $nvme --for guest
  expect_exit 0 gpuready vm detach --for guest
  until [ -e /dev/nvme0n1 ]; do sleep 1; done
}

start hold poll /dev/hvc0
refused $console "a request that waits" "the files that io_uring holds are not known: a request waits for one"
end
start hold ring-mapped /dev/nvme0n1
refused $nvme "a ring without a descriptor" "an io_uring is mapped, and no descriptor shows what it holds"
end

# Both keep a mount namespace that no process is in.
start unshare -m sh -c 'mount -t minix /dev/nvme0n1 /mnt && mkdir -p /m9 && mount -t 9p -o trans=virtio,version=9p2000.L tag /m9 && echo held; exec sleep 1000'
sleep 1000 5</proc/$holder/ns/mnt & pin=$!
until [ -e /proc/$pin/fd/5 ]; do sleep 1; done
touch /space && mount --make-private / 2>/dev/null || true
sleep 1
end
refused $nvme "a disk in a namespace that a descriptor keeps" "/mnt of another mount namespace"
refused $share "a shared folder in a namespace that a descriptor keeps" "/m9 of another mount namespace (9p) is mounted"
mount --bind /proc/$pin/fd/5 /space
kill -9 $pin; wait $pin || true
refused $nvme "a disk in a namespace that a bind mount keeps" "/mnt of another mount namespace"
refused $share "a shared folder in a namespace that a bind mount keeps" "/m9 of another mount namespace (9p) is mounted"
umount /space
mkdir -p /tmp/root/bin && cp /bin/hold /bin/busybox /tmp/root/bin/
start unshare -m sh -c 'mount -t minix /dev/nvme0n1 /mnt && exec chroot /tmp/root /bin/busybox sh -c "echo held; exec /bin/busybox sleep 1000"'
refused $nvme "a mount outside the only process's root" "/mnt of another mount namespace"
end

mknod /tmp/own b $(tr : ' ' </sys/class/block/nvme0n1/dev)
losetup /dev/loop0 /tmp/own
refused $nvme "a loop device on a node of another name" "nvme0n1 is in use: loop0"
losetup -d /dev/loop0
modprobe nvmet
refused $nvme "exports that cannot be read" "/sys/kernel/config/nvmet/subsystems cannot be read"
mount -t configfs none /sys/kernel/config
disk_goes
export=/sys/kernel/config/nvmet/subsystems/t
mkdir $export $export/namespaces/1
echo -n /tmp/own >$export/namespaces/1/device_path
echo 1 >$export/namespaces/1/enable
refused $nvme "an export over NVMe" "nvme0n1 is in use: nvmet exports it"
echo 0 >$export/namespaces/1/enable
modprobe target_core_iblock
export=/sys/kernel/config/target/core/iblock_0/d
mkdir -p $export
echo -n "udev_path=/dev/nvme0n1" >$export/control
echo 1 >$export/enable
refused $nvme "an export over SCSI" "/dev/nvme0n1 is claimed"
rmdir $export
modprobe target_core_file
export=/sys/kernel/config/target/core/fileio_0/d
mkdir -p $export
echo -n "fd_dev_name=/tmp/own,fd_dev_size=16777216" >$export/control
echo 1 >$export/enable
refused $nvme "a file of an export" "nvme0n1 is in use: target_core_file exports it"
rmdir $export
disk_goes

unshare -n sleep 1000 & space=$!
sleep 1
ip link set eth0 netns $space
refused $card "an interface in another network namespace" "its network interface is in another network namespace"
kill -9 $space; wait $space || true
until [ -e /sys/class/net/eth0 ]; do sleep 1; done
expect_exit 0 gpuready vm attach $card --for guest
T
) | boot unseen -drive file=nvme.img,format=raw,if=none,id=n -device nvme,drive=n,serial=n,addr=6.0 \
  -device virtio-serial-pci,addr=7.0,disable-legacy=on -chardev null,id=c -device virtconsole,chardev=c \
  -fsdev local,id=f,path="$PWD/shared",security_model=none -device virtio-9p-pci,fsdev=f,mount_tag=tag,addr=8.0
grep 'refused:' unseen.log
expect_passed unseen
