# The whole way of a driver into a guest: a bundle from a stub driver, whose kernel modules gpuready builds against
# Debian's headers, an initrd, a boot, and a command in a root of Debian's and one of RHEL's layout; and an init on a
# disk, which takes over.
. "$SOURCE/tests/vm/machine.sh"
. "$SOURCE/tests/vm/stub_driver.sh"
guest=$(dirname "$GPUREADY")/gpuready-guest
[ -x "$guest" ] || skip "built without gpuready-guest"
libc=/lib/x86_64-linux-gnu/libc.so.6
[ -e $libc ] || skip "not Debian's layout"
prepare
rm -rf driver bundle roots roots.disk ./*.img
command -v make >/dev/null && command -v gcc >/dev/null || skip "no make and gcc for kernel modules"
prepare_headers
make_stub_driver driver 580.65.06
make_stub_source source 580.65.06
"$GPUREADY" vm drivers collect driver source "$VM_BASE/kernel" --headers "$VM_BASE/headers" -o bundle --quiet \
  --module virtio_pci --module virtio_blk --module ext4 --module crc32c_generic --module nvme
"$GPUREADY" vm drivers verify bundle --quiet || die "the kernel's own modules are not of the driver's version"
[ ! -e bundle/modules/"$release"/nvidia-wmi-ec-backlight.ko ] || die "Linux's module was taken for NVIDIA's"
"$GPUREADY" vm initrd bundle -o driver.img --compress zstd --quiet
for root in debian:usr/lib/x86_64-linux-gnu rhel:usr/lib64; do
  folder=${root#*:} root=roots/${root%%:*}
  mkdir -p $root/$folder $root/lib64 $root/usr/bin $root/etc $root/proc $root/sys $root/dev $root/run
  cp $libc $root/$folder/
  cp /lib64/ld-linux-x86-64.so.2 $root/lib64/
  cp "$(command -v busybox)" $root/usr/bin/
  echo /$folder >$root/etc/ld.so.conf
  /sbin/ldconfig -r $root
  cat >$root/usr/bin/ask <<'ASK'
#!/usr/bin/busybox sh
busybox=/usr/bin/busybox
/lib64/ld-linux-x86-64.so.2 --preload libcuda.so.1 --list /usr/bin/nvidia-smi | $busybox grep libcuda
read -r line </dev/nvidia0 && echo "nvidia0 says $line"
[ -c /dev/nvidiactl ] && [ -c /dev/nvidia-uvm ] && [ -c /dev/nvidia-uvm-tools ] && echo "nodes are there"
/usr/bin/nvidia-smi && echo "nvidia-smi runs"
echo x 2>/dev/null >/usr/lib/nvidia/x || echo "the driver is read-only"
exit 7
ASK
  chmod +x $root/usr/bin/ask
done
(cd roots && find . | cpio -o -H newc --quiet) >roots.img
cat driver.img roots.img >all.img

boot_guest() { # NAME WORDS: one boot with these on the command line; the console goes to NAME.log
  local name=$1 after=${after-gpuready.after=poweroff}
  shift
  timeout 150 qemu-system-x86_64 -machine q35 -accel tcg,thread=multi -cpu max -smp 2 -m 512 -display none \
    -serial "file:$name.log" -monitor none -no-reboot -nic none -vga none \
    -kernel "$kernel" -initrd all.img \
    ${drive:+-drive "$drive"} -append "$kernel_words $after $*" </dev/null || true
}
has() { grep -q -- "$2" "$1.log" || { tail -n 40 "$1.log"; die "no '$2' in $1.log"; }; }

for root in debian rhel; do
  boot_guest $root "HAS_GPU=1 gpuready.root=/$root nvidia.NVreg_Greeting=hello -- /usr/bin/ask"
  has $root "ok module nvidia: loaded, version 580.65.06, with NVreg_Greeting=hello"
  has $root "ok module nvidia_uvm: loaded"
  has $root "ok node /dev/nvidia0: 195:0"
  has $root "ok ready gpu: GPU ready"
  has $root "libcuda.so.1 => /usr/lib.*/libcuda.so.1"
  has $root "nvidia0 says stub"
  has $root "nodes are there"
  has $root "nvidia-smi runs"
  has $root "the driver is read-only"
  has $root "FAIL end /usr/bin/ask: exit code 7"
done
# A disk's own init takes over, and then a driver asks for its firmware. An MBR's partition is called by
# the disk's id and its own number.
cp -r roots/debian roots.disk && mkdir -p roots.disk/sbin
cat >roots.disk/sbin/init <<'INIT'
#!/usr/bin/busybox sh
busybox=/usr/bin/busybox
$busybox cat /proc/driver/nvidia/firmware
$busybox test -e /run/gpuready/modules/*/kernel/drivers/gpu/nvidia-uvm.ko && echo "modules are there"
$busybox poweroff -f
INIT
chmod +x roots.disk/sbin/init
rm -f part.img && truncate -s 24M part.img && mkfs.ext4 -q -d roots.disk part.img
truncate -s 28M disk.img
printf '\xef\xbe\xad\xde\0\0\0\0\0\0\x83\0\0\0\0\x08\0\0\0\xc0\0\0' | dd of=disk.img bs=1 seek=440 conv=notrunc status=none
printf '\x55\xaa' | dd of=disk.img bs=1 seek=510 conv=notrunc status=none
dd if=part.img of=disk.img bs=1M seek=1 conv=notrunc status=none
after='' drive=file=disk.img,format=raw,if=virtio \
  boot_guest disk "HAS_GPU=1 gpuready.check=0 root=PARTUUID=deadbeef-01"
has disk "ok root PARTUUID=.*: /dev/vda1, mounted as ext4"
has disk "ok start /sbin/init: takes over"
has disk "firmware of 22 bytes"
has disk "modules are there"
# Without the word no driver is loaded.
boot_guest none "gpuready.root=/debian -- /usr/bin/ask"
has none "ok config HAS_GPU: 0"
! grep -q "module nvidia" none.log || die "loaded a driver without HAS_GPU"
# What the console tells, by our own doctor.
for root in debian rhel; do
  "$GPUREADY" vm doctor --console $root.log --json=$root.json >/dev/null || die "vm doctor of $root.log"
  grep -q '"state": "ready"' $root.json || die "$root.log is not found ready"
done
got=0
"$GPUREADY" vm doctor --console none.log >none.txt || got=$?
[ $got -eq 4 ] && grep -q guest-not-told none.txt || die "vm doctor of none.log: exit $got"
# A driver for another kernel: the failed step is named.
sed "s/$release/9.9.9-other/g" bundle/bundle.json >bundle.other && mv bundle.other bundle/bundle.json
mv "bundle/modules/$release" bundle/modules/9.9.9-other
"$GPUREADY" vm initrd bundle -o other.img --kernel 9.9.9-other --quiet
cat other.img roots.img >all.img
boot_guest other "HAS_GPU=1 gpuready.root=/debian -- /usr/bin/ask"
got=0
"$GPUREADY" vm doctor --console other.log >other.txt || got=$?
[ $got -eq 1 ] && grep -q "failed step: module" other.txt && grep -q module-other-kernel other.txt ||
  { cat other.txt; die "vm doctor of other.log: exit $got"; }
