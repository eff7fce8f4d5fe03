# Machines of QEMU for the tests of passthrough, emulated without KVM. Sourced by the tests, which run in a
# folder of their own with $GPUREADY, $SOURCE and $VM_BASE (what all of them share).
# Nothing here touches the host's devices: all binding happens in the guest.
set -euo pipefail
die() { echo "FAILED: $*" >&2; exit 1; }
skip() { echo "SKIPPED: $*" >&2; exit 77; }

for tool in qemu-system-x86_64 cpio depmod modprobe mkfs.ext4 strip; do
  PATH=$PATH:/sbin:/usr/sbin command -v $tool >/dev/null || skip "$tool is not installed (scripts/packages.txt, full)"
done
busybox=$(command -v busybox) || skip "busybox is not installed (scripts/packages.txt, full)"
PATH=$PATH:/sbin:/usr/sbin

# Modules that guests load, with what they need.
guest_modules="vfio-pci vfio_iommu_type1 e1000e e1000 nvme snd_hda_intel bochs virtio_pci virtio_blk ext4 crc32c_generic virtio_console 9p 9pnet_virtio minix dm_mod loop nvmet target_core_iblock target_core_file"

# The kernel and its modules from Debian's packages: once.
prepare_kernel() {
  [ ! -e "$VM_BASE/release" ] || return 0
  rm -rf "$VM_BASE/kernel" && mkdir -p "$VM_BASE/kernel"
  local package
  package=$(apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-.*\)/\1/p' | head -1)
  [ -n "$package" ] || skip "apt knows no linux-image-amd64: this is not Debian on x86-64"
  (cd "$VM_BASE/kernel" && apt-get -o APT::Sandbox::User=root -qq download "$package" >/dev/null) ||
    skip "$package cannot be downloaded"
  dpkg-deb -x "$VM_BASE"/kernel/*.deb "$VM_BASE/kernel"
  rm "$VM_BASE"/kernel/*.deb
  echo "${package#linux-image-}" >"$VM_BASE/release.new"
  depmod -b "$VM_BASE/kernel" "$(cat "$VM_BASE/release.new")"
  mv "$VM_BASE/release.new" "$VM_BASE/release"
}

# Headers of the guest's kernel: once. Called with the lock held by nobody.
prepare_headers() {
  local headers=$VM_BASE/headers package
  exec 8>"$VM_BASE/lock"
  flock 8
  if [ ! -e "$headers/done" ]; then
    rm -rf "$headers" && mkdir -p "$headers"
    (cd "$headers" && apt-get -o APT::Sandbox::User=root -qq download "linux-headers-$release" \
      "linux-headers-${release%-*}-common" "linux-kbuild-${release%.*}" >/dev/null) ||
      skip "the headers of $release cannot be downloaded"
    for package in "$headers"/*.deb; do dpkg-deb -x "$package" "$headers"; done
    rm "$headers"/*.deb
    sed -i "s#/usr/src/#$headers/usr/src/#g" "$headers/usr/src/linux-headers-$release/Makefile"
    touch "$headers/done"
  fi
  exec 8>&-
}

# build_modules FOLDER SOURCE NAME [SOURCE NAME]...: FOLDER/NAME.ko for the guest's kernel.
build_modules() {
  local folder=$1
  shift
  command -v make >/dev/null && command -v gcc >/dev/null || skip "no make and gcc for kernel modules"
  prepare_headers
  rm -rf "$folder" && mkdir -p "$folder"
  while [ $# -gt 0 ]; do
    cp "$1" "$folder/$2.c"
    echo "obj-m += $2.o" >>"$folder/Makefile"
    shift 2
  done
  make -s -C "$VM_BASE/headers/usr/src/linux-headers-$release" M="$(realpath "$folder")" modules \
    </dev/null >"$folder/log" 2>&1 || { tail -5 "$folder/log"; skip "kernel modules cannot be built here"; }
}

copy_with_libraries() {  # PROGRAM ROOT
  local library
  for library in $(ldd "$1" 2>/dev/null | grep -o '/[^ ]*'); do
    mkdir -p "$2$(dirname "$library")"
    cp -L "$library" "$2$library"
  done
}

# One test at a time makes what all share.
prepare() {
  mkdir -p "$VM_BASE"
  exec 8>"$VM_BASE/lock"
  flock 8
  prepare_kernel
  release=$(cat "$VM_BASE/release")
  kernel=$VM_BASE/kernel/boot/vmlinuz-$release
  prepare_root
  exec 8>&-
}

# The initrd: busybox, gpuready with its libraries, modules.
prepare_root() {
  [ "$GPUREADY" -nt "$VM_BASE/base.cpio" ] || [ "$SOURCE/tests/vm/machine.sh" -nt "$VM_BASE/base.cpio" ] || return 0
  local root=$VM_BASE/root name
  rm -rf "$root"
  mkdir -p "$root"/{bin,sbin,proc,sys,dev,tmp,mnt,etc,var/lib/gpuready,usr/bin}
  cp "$busybox" "$root/bin/busybox"
  for name in $("$busybox" --list); do [ "$name" = busybox ] || ln -sf /bin/busybox "$root/bin/$name"; done
  rm -f "$root/bin/init"
  strip -o "$root/bin/gpuready" "$GPUREADY"
  copy_with_libraries "$GPUREADY" "$root"
  for name in $guest_modules; do
    modprobe -d "$VM_BASE/kernel" -S "$release" --show-depends "$name" 2>/dev/null | awk '$1 == "insmod" { print $2 }'
  done | sort -u | while read -r name; do
    name=${name#"$VM_BASE/kernel"}
    mkdir -p "$root$(dirname "$name")"
    cp "$VM_BASE/kernel$name" "$root$name"
  done
  cp "$VM_BASE/kernel/lib/modules/$release"/modules.{builtin,builtin.modinfo,order} "$root/lib/modules/$release/"
  depmod -b "$root" "$release"
  cat >"$root/init" <<'INIT'
#!/bin/sh
export PATH=/bin:/sbin HOME=/
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
echo "guest: up"
if [ -e /sys/bus/pci/devices/0000:00:1e.0 ]; then  # the disk that keeps the journal
  modprobe virtio_pci; modprobe virtio_blk; modprobe crc32c_generic; modprobe ext4
  mount -t ext4 /dev/vda /var/lib/gpuready || echo "guest: no disk"
fi
modprobe vfio_iommu_type1  # a soft dependency of vfio, which busybox does not know
. /guest.sh
if sh -euc '. /guest.sh; . /test.sh'; then echo "guest: passed"; else echo "guest: failed"; fi
sync
echo o >/proc/sysrq-trigger
sleep 60
INIT
  chmod +x "$root/init"
  cat >"$root/guest.sh" <<'GUEST'
driver() { basename "$(readlink "/sys/bus/pci/devices/0000:$1/driver")" 2>/dev/null || true; }
override() { cat "/sys/bus/pci/devices/0000:$1/driver_override"; }
expect() { [ "$2" = "$3" ] || { echo "expected $1 to be '$3', and it is '$2'"; exit 1; }; }
expect_exit() { want=$1; shift; got=0; "$@" >/tmp/out 2>&1 || got=$?; [ $got = "$want" ] || { cat /tmp/out; echo "exit $got instead of $want: $*"; exit 1; }; }
told() { tr '\n' ' ' </tmp/out | grep -q -- "$1"; }  # in whatever way the lines are broken
expect_in() { told "$1" || { cat /tmp/out; echo "no '$1' in it"; exit 1; }; }
GUEST
  (cd "$root" && find . | cpio -o -H newc --quiet) >"$VM_BASE/base.cpio.new"
  mv "$VM_BASE/base.cpio.new" "$VM_BASE/base.cpio"
}

# The devices: a display with an audio function; a network card; a device without a driver; two cards
# behind a bridge, which share an IOMMU group; an NVMe disk.
devices=(-device intel-iommu,intremap=on
  -device pcie-root-port,id=rp1,chassis=1,slot=1,addr=2.0
  -device bochs-display,bus=rp1,addr=0.0,multifunction=on -device intel-hda,bus=rp1,addr=0.1
  -device pcie-root-port,id=rp2,chassis=2,slot=2,addr=3.0 -device e1000e,bus=rp2,romfile=
  -device pcie-root-port,id=rp3,chassis=3,slot=3,addr=4.0 -device pcie-pci-bridge,id=b1,bus=rp3
  -device e1000,bus=b1,addr=1.0,romfile= -device e1000,bus=b1,addr=2.0,romfile=
  -device edu,addr=5.0)
gpu=01:00.0 audio=01:00.1 card=02:00.0 first=04:01.0 second=04:02.0

# What an emulated boot needs to be quick. QEMU 7.2 keeps translated code by virtual address, so each start of a
# program at the same address spares its translation. Ports of 2.5 GT/s report no link, for which the kernel would wait
# 2 s after each reset of their bus.
kernel_words="console=ttyS0 panic=-1 quiet no_timer_check norandmaps mitigations=off"
quick=(-global pcie-root-port.x-speed=2_5)

# boot NAME [QEMU'S OPTIONS]: runs the commands on standard input in a guest; what it prints goes to NAME.log.
# $extra, where set, is a folder whose files are put into the guest's root. An emulated processor stalls now and then: a
# guest that has said nothing but that it is up when its time is over is started once more.
boot() {
  local name=$1 vga=none try
  shift
  [ "${1:-}" != -vga ] || { vga=$2; shift 2; }
  rm -rf "$name.root" && mkdir "$name.root"
  [ -z "${extra:-}" ] || cp -r "$extra"/. "$name.root/"
  cat >"$name.root/test.sh"
  cp "$VM_BASE/base.cpio" "$name.cpio"
  (cd "$name.root" && find . | cpio -o -H newc --quiet) >>"$name.cpio"
  for try in 1 2; do
    timeout "${limit_s:-170}" qemu-system-x86_64 -machine q35,kernel-irqchip=split -accel tcg,thread=multi -cpu max \
      -smp 2 -m 768 -display none -serial "file:$name.log" -monitor none -no-reboot -nic none -vga $vga \
      -kernel "$kernel" "${quick[@]}" "${devices[@]}" "$@" -initrd "$name.cpio" \
      -append "$kernel_words intel_iommu=on iommu=pt" </dev/null ||
      [ $? -ne 124 ] || [ "$(grep -c '^guest:' "$name.log")" -gt 1 ] || [ $try = 2 ] ||
      { echo "boot: $name stalled after it was up; once more"; continue; }
    break
  done
  rm -rf "$name.root" "$name.cpio"
}
expect_passed() { grep -q "guest: passed" "$1.log" || { tail -40 "$1.log"; die "$1"; }; }

# A disk that keeps the journal over restarts.
make_disk() { rm -f disk.img; truncate -s 16M disk.img; mkfs.ext4 -q disk.img; }
disk=(-drive file=disk.img,format=raw,if=none,id=journal,cache=writethrough -device virtio-blk-pci,drive=journal,addr=1e.0)
