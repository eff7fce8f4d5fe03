# A stock Debian with systemd, and an initrd of ours that reaches its disk. Sourced, with machine.sh and stub_driver.sh.

# stock_root SUITE [PACKAGE...]: makes the folder SUITE by debootstrap: once. For Ubuntu, MIRROR is
# http://archive.ubuntu.com/ubuntu.
stock_root() {
  [ ! -e "$1/.done" ] || return 0
  command -v debootstrap >/dev/null || skip "debootstrap is not installed (scripts/packages.txt, full)"
  unshare --mount true 2>/dev/null || skip "debootstrap needs root and a mount namespace"
  rm -rf "$1"
  local packages=systemd-sysv,udev,kmod package
  for package in "${@:2}"; do packages+=,$package; done
  unshare --mount --propagation private debootstrap --variant=minbase --include=$packages "$1" "$1" \
    ${MIRROR:+"$MIRROR"} >debootstrap.log 2>&1 ||
    { tail -3 debootstrap.log; die "debootstrap cannot make $1; is ${MIRROR:-the mirror of Debian} reachable?"; }
  touch "$1/.done"
}

# stock_unit FOLDER COMMANDS: whose output goes to the console when udev is done; the last says "asked".
stock_unit() {
  echo "$2" >"$1/ask.sh"
  cat >"$1/etc/systemd/system/ask.service" <<'UNIT'
[Unit]
After=systemd-udev-settle.service local-fs.target
Wants=systemd-udev-settle.service
[Service]
Type=oneshot
ExecStart=sh /ask.sh
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
[Install]
WantedBy=multi-user.target
UNIT
  ln -sf ../ask.service "$1/etc/systemd/system/multi-user.target.wants/ask.service"
}

# boot_disk NAME "QEMU'S OPTIONS" WORDS...: boots with driver.img to the login and to "asked", or to the end of QEMU.
boot_disk() {
  local name=$1 options=$2 qemu
  shift 2
  rm -f "$name.log"
  # shellcheck disable=SC2086
  nice qemu-system-x86_64 -machine q35 -accel tcg,thread=multi -cpu max -smp 2 -m 1024 -display none \
    -serial "file:$name.log" -monitor none -no-reboot -nic none -vga none -snapshot -kernel "$kernel" \
    -initrd driver.img $options -append "$kernel_words HAS_GPU=1 gpuready.check=0 $*" </dev/null &
  qemu=$!
  for ((second = 0; second < 300; ++second)); do
    sleep 1
    ! grep -aq "login:" "$name.log" 2>/dev/null || ! grep -aq "asked" "$name.log" || break
    kill -0 $qemu 2>/dev/null || break
  done
  kill $qemu 2>/dev/null || true
  wait $qemu 2>/dev/null || true
}
has() { grep -aq -- "$2" "$1.log" || { tail -n 40 "$1.log"; die "no '$2' in $1.log"; }; }

# stock_initrd [--module NAME]...: driver.img, of a stub driver and the modules of usual disks and these.
stock_initrd() {
  build_modules modules "$SOURCE/tests/vm/stub_nvidia.c" nvidia "$SOURCE/tests/vm/stub_uvm.c" nvidia-uvm
  make_stub_driver driver 580.65.06
  mkdir driver/modules && cp modules/*.ko driver/modules/
  "$GPUREADY" vm drivers collect driver "$VM_BASE/kernel" -o bundle --kernel "$release" --quiet \
    --module virtio_pci --module virtio_blk --module nvme --module ahci --module sd_mod --module ext4 \
    --module crc32c_generic "$@"
  "$GPUREADY" vm initrd bundle -o driver.img --quiet
}
