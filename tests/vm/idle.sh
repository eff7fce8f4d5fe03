# Every holder of a device is found, in whatever way it holds it: in each row one does, attach or detach refuses and
# names the holder, and without the holder the device goes.
. "$SOURCE/tests/vm/machine.sh"
prepare
extra=$PWD/extra
rm -rf "$extra" && mkdir -p "$extra/bin" shared
gcc -O1 -static -pthread -o "$extra/bin/hold" "$SOURCE/tests/vm/hold.c" || skip "no static C library"
truncate -s 16M nvme.img
mkfs.minix nvme.img >/dev/null
(echo "card=0000:$card" && cat <<'T'
modprobe e1000e; modprobe nvme; modprobe virtio_pci; modprobe virtio_console; modprobe 9pnet_virtio; modprobe 9p; modprobe minix;
sleep 1
nvme=0000:00:06.0 console=0000:00:07.0 share=0000:00:08.0
group() { basename "$(readlink /sys/bus/pci/devices/$1/iommu_group)"; }
node() { mknod "$1" "$2" "$(cut -d: -f1 "$3")" "$(cut -d: -f2 "$3")"; }
cut_off() {  # NAME: a root of its own, with its own nodes of VFIO
  mkdir -p /tmp/$1/bin && cp /bin/hold /tmp/$1/bin/
  mknod /tmp/$1/container c 10 196
  node /tmp/$1/group c /sys/class/vfio/$(group $card)/dev
}
start() {  # WORDS: waits until it is held
  "$@" >/tmp/held 2>&1 & holder=$!
  for second in 1 2 3 4 5 6 7 8; do grep -q held /tmp/held && return 0; sleep 1; done
  cat /tmp/held; exit 1
}
end() { kill -9 $holder; wait $holder || true; }
disk_held() {  # NAME WHAT_IS_TOLD
  expect_exit 1 gpuready vm attach $nvme --for guest
  told "$2" || { cat /tmp/out; echo "$1: not told"; exit 1; }
  end
  echo "refused: $1"
}
vm_holds() {  # NAME WHAT_IS_TOLD
  expect_exit 1 gpuready vm detach --for guest
  told "$2" || { cat /tmp/out; echo "$1: not told"; exit 1; }
  expect "the card's driver" "$(driver ${card#0000:})" vfio-pci
  end
  echo "refused: $1"
}

node /tmp/own b /sys/class/block/nvme0n1/dev
node /tmp/controller c /sys/class/nvme/nvme0/dev
start sh -c 'exec 3</tmp/own; echo held; exec sleep 1000'
disk_held "a node in another folder" "(sleep) holds /dev/nvme0n1 open"
start sh -c 'exec 3</tmp/controller; echo held; exec sleep 1000'
disk_held "the controller's node in another folder" "(sleep) holds /dev/nvme0 open"
node /dev/gone b /sys/class/block/nvme0n1/dev
start sh -c 'exec 3</dev/gone; rm /dev/gone; echo held; exec sleep 1000'
disk_held "a node that was removed" "(sleep) holds /dev/nvme0n1 open"
start hold thread /tmp/own
disk_held "a thread with descriptors of its own" "(hold) holds /dev/nvme0n1 open"
start hold orphan /tmp/own
disk_held "a process whose first thread has ended" "(hold) holds /dev/nvme0n1 open"
start hold map /tmp/own
disk_held "a mapping" "(hold) holds /dev/nvme0n1 open"
node /tmp/anon_inode:own b /sys/class/block/nvme0n1/dev
start sh -c 'cd /tmp && exec hold map anon_inode:own'
disk_held "a mapping of a node that is called as an anonymous file" "(hold) holds /dev/nvme0n1 open"
start hold sent /tmp/own
disk_held "a file on its way through a socket" "files that were sent through this socket wait in it"
start hold ring /tmp/own
disk_held "a file that io_uring holds" "the files that io_uring holds are not known"
expect_exit 0 gpuready vm attach $nvme --for guest
expect_exit 0 gpuready vm detach --for guest
until [ -e /dev/nvme0n1 ]; do sleep 1; done
start unshare -m sh -c 'mount -t minix /dev/nvme0n1 /mnt && echo held; exec sleep 1000'
disk_held "a mount in another mount namespace" "/mnt of another mount namespace"

expect_exit 0 gpuready vm attach $card --for guest
cut_off root
start chroot /tmp/root /bin/hold vfio /container /group $card
vm_holds "a virtual machine with nodes of its own" "(hold) holds /dev/vfio/$(group $card) open"
start chroot /tmp/root /bin/hold vfio-only /container /group $card
vm_holds "a virtual machine with only the device open" "(hold) holds"
mv /dev/vfio/$(group $card) /tmp/group
start hold vfio /dev/vfio/vfio /tmp/group $card
rm /tmp/group
vm_holds "a virtual machine whose node was removed" "(hold) holds /dev/vfio/$(group $card) open"
expect_exit 0 gpuready vm detach --for guest

start sh -c 'exec 3<>/dev/hvc0; echo held; exec sleep 1000'
expect_exit 1 gpuready vm attach $console --for guest
expect_in "(sleep) holds /dev/hvc0 open"
end
echo "refused: a console"
expect_exit 0 gpuready vm attach $console --for guest
expect_exit 0 gpuready vm detach --for guest
mount -t 9p -o trans=virtio,version=9p2000.L tag /mnt
expect_exit 1 gpuready vm attach $share --for guest
expect_in "/mnt (9p) is mounted"
umount /mnt
start unshare -m sh -c 'mount -t 9p -o trans=virtio,version=9p2000.L tag /mnt && echo held; exec sleep 1000'
expect_exit 1 gpuready vm attach $share --for guest
expect_in "/mnt of another mount namespace (9p) is mounted"
end
echo "refused: a shared folder"
expect_exit 0 gpuready vm attach $share --for guest
T
) | boot idle -drive file=nvme.img,format=raw,if=none,id=n -device nvme,drive=n,serial=n,addr=6.0 \
  -device virtio-serial-pci,addr=7.0,disable-legacy=on -chardev null,id=c -device virtconsole,chardev=c \
  -fsdev local,id=f,path="$PWD/shared",security_model=none -device virtio-9p-pci,fsdev=f,mount_tag=tag,addr=8.0
grep 'refused:' idle.log
expect_passed idle
