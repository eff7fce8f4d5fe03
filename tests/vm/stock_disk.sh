# A guest from a stock disk: Debian with systemd (debootstrap) on a partition of its own, found by its UUID and by its
# LABEL, takes over from our init, and a unit of its own asks for the driver's firmware. By hand: needs debootstrap and
# the network, and takes minutes: stock_disk.sh [SUITE], in a folder of its own with $GPUREADY, $SOURCE and $VM_BASE.
. "$SOURCE/tests/vm/machine.sh"
. "$SOURCE/tests/vm/stub_driver.sh"
. "$SOURCE/tests/vm/stock_root.sh"
suite=${1:-bookworm}
prepare
rm -rf driver bundle modules ./*.img
uuid=0f0e0d0c-0b0a-4908-8706-050403020100
stock_root "$suite"
cat >"$suite/etc/systemd/system/ask.service" <<'UNIT'
[Unit]
After=systemd-udev-settle.service
[Service]
Type=oneshot
ExecStart=cat /proc/driver/nvidia/firmware
ExecStart=/usr/lib/nvidia/bin/nvidia-smi
ExecStart=sh -c 'findmnt -no SOURCE / ; echo asked'
StandardOutput=tty
TTYPath=/dev/ttyS0
[Install]
WantedBy=multi-user.target
UNIT
ln -sf ../ask.service "$suite/etc/systemd/system/multi-user.target.wants/ask.service"
truncate -s 700M root.img && mkfs.ext4 -q -L stock-root -U $uuid -d "$suite" root.img

stock_initrd

boot_disk() { # NAME CONTROLLER WORDS: to the login
  local name=$1 disk=$2 qemu
  shift 2
  rm -f "$name.log"
  # shellcheck disable=SC2086
  nice qemu-system-x86_64 -machine q35 -accel tcg,thread=multi -cpu max -smp 2 -m 1024 -display none \
    -serial "file:$name.log" -monitor none -no-reboot -nic none -vga none -snapshot -kernel "$kernel" -initrd driver.img \
    -drive file=root.img,format=raw,if=none,id=root $disk -append "$kernel_words $*" </dev/null &
  qemu=$!
  for ((second = 0; second < 300; ++second)); do
    sleep 1
    ! grep -q "login:" "$name.log" 2>/dev/null || ! grep -q "asked" "$name.log" || break
    kill -0 $qemu 2>/dev/null || break
  done
  kill $qemu 2>/dev/null || true
  wait $qemu 2>/dev/null || true
}
has() { grep -q -- "$2" "$1.log" || { tail -n 40 "$1.log"; die "no '$2' in $1.log"; }; }
boot_disk virtio "-device virtio-blk-pci,drive=root" "HAS_GPU=1 gpuready.check=0 root=UUID=$uuid"
boot_disk nvme "-device nvme,drive=root,serial=1" "HAS_GPU=1 gpuready.check=0 root=LABEL=stock-root"
boot_disk ahci "-device ide-hd,drive=root" "HAS_GPU=1 gpuready.check=0 root=UUID=$uuid"
for name in virtio nvme ahci; do
  has $name "ok root .*mounted as ext4"
  has $name "ok ready gpu: GPU ready"
  has $name "firmware of 22 bytes"
  has $name "asked"
  has $name "login:"
  echo "$suite, $name: passed"
done
