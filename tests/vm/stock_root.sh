# A stock Debian with systemd, and an initrd of ours that reaches its disk. Sourced, with machine.sh and stub_driver.sh.

# stock_root SUITE: makes the folder SUITE by debootstrap: once. For Ubuntu, MIRROR is http://archive.ubuntu.com/ubuntu.
stock_root() {
  [ ! -e "$1/.done" ] || return 0
  command -v debootstrap >/dev/null || skip "debootstrap is not installed"
  rm -rf "$1"
  debootstrap --variant=minbase --include=systemd-sysv,udev,kmod "$1" "$1" ${MIRROR:+"$MIRROR"} >debootstrap.log 2>&1 ||
    { tail -3 debootstrap.log; skip "debootstrap cannot make $1"; }
  touch "$1/.done"
}

# stock_initrd: driver.img, of a stub driver and the modules of usual disks.
stock_initrd() {
  build_modules modules "$SOURCE/tests/vm/stub_nvidia.c" nvidia "$SOURCE/tests/vm/stub_uvm.c" nvidia-uvm
  make_stub_driver driver 580.65.06
  mkdir driver/modules && cp modules/*.ko driver/modules/
  "$GPUREADY" vm drivers collect driver "$VM_BASE/kernel" -o bundle --kernel "$release" --quiet \
    --module virtio_pci --module virtio_blk --module nvme --module ahci --module sd_mod --module ext4 \
    --module crc32c_generic
  "$GPUREADY" vm initrd bundle -o driver.img --quiet
}
