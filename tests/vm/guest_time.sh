# How long our guest init takes to "GPU ready", beside a busybox script that does the same in the same boot: kernel
# file systems, modules with a parameter, nodes, the driver read-only in the root, a link for each SONAME and program,
# the loader's cache. By hand: guest_time.sh [BOOTS], in a folder of its own with $GPUREADY, $SOURCE and $VM_BASE.
. "$SOURCE/tests/vm/machine.sh"
. "$SOURCE/tests/vm/stub_driver.sh"
boots=${1:-5}
prepare
rm -rf driver bundle root ./*.img
build_modules modules "$SOURCE/tests/vm/stub_nvidia.c" nvidia "$SOURCE/tests/vm/stub_uvm.c" nvidia-uvm
make_stub_driver driver 580.65.06
mkdir driver/modules
cp modules/*.ko driver/modules/
"$GPUREADY" vm drivers collect driver -o bundle --quiet
"$GPUREADY" vm initrd bundle -o driver.img --quiet
for name in first second; do # two roots alike: the script's, and the init's
  folder=root/$name/usr/lib/x86_64-linux-gnu
  mkdir -p $folder root/$name/{lib64,usr/bin,sbin,etc,proc,sys,dev,run}
  cp /lib/x86_64-linux-gnu/libc.so.6 $folder/
  cp /lib64/ld-linux-x86-64.so.2 root/$name/lib64/
  cp "$busybox" root/$name/usr/bin/
  cp /sbin/ldconfig root/$name/sbin/
  printf '/usr/lib/x86_64-linux-gnu\n' >root/$name/etc/ld.so.conf
  /sbin/ldconfig -r root/$name
done
mkdir -p root/bin root/newroot
cp "$busybox" root/bin/busybox
for applet in sh mount umount insmod rmmod mknod grep sed ln mkdir basename chroot cat awk rm; do
  ln -s busybox root/bin/$applet
done
cat >root/script <<'S'
#!/bin/sh
export PATH=/bin
mkdir -p /proc /sys /dev /run
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /run
echo "script begins" >/dev/kmsg
grep -q HAS_GPU=1 /proc/cmdline || exit 1
mount --bind /first /newroot
modules=/lib/modules/$(cat /proc/sys/kernel/osrelease)/kernel/drivers/gpu
greeting=$(sed -n 's/.*nvidia\.\(NVreg_Greeting=[^ ]*\).*/\1/p' /proc/cmdline)
insmod $modules/nvidia.ko "$greeting"
insmod $modules/nvidia-uvm.ko
major=$(awk '$2 == "nvidia-frontend" || $2 == "nvidia" { print $1; exit }' /proc/devices)
uvm=$(awk '$2 == "nvidia-uvm" { print $1; exit }' /proc/devices)
mkdir -p /newroot/dev
mount --bind /dev /newroot/dev
[ -e /dev/nvidiactl ] || mknod -m 666 /dev/nvidiactl c "$major" 255
number=0
for gpu in /proc/driver/nvidia/gpus/*; do
  [ -e /dev/nvidia$number ] || mknod -m 666 /dev/nvidia$number c "$major" $number
  number=$((number + 1))
done
[ -e /dev/nvidia-uvm ] || mknod -m 666 /dev/nvidia-uvm c "$uvm" 0
[ -e /dev/nvidia-uvm-tools ] || mknod -m 666 /dev/nvidia-uvm-tools c "$uvm" 1
mkdir -p /newroot/usr/lib/nvidia
mount --bind /usr/lib/nvidia /newroot/usr/lib/nvidia
mount -o remount,bind,ro /newroot/usr/lib/nvidia
for library in /newroot/usr/lib/nvidia/lib*.so.*; do
  name=$(basename "$library")
  ln -s /usr/lib/nvidia/$name /newroot/usr/lib/x86_64-linux-gnu/${name%%.so.*}.so.1
done
for program in /newroot/usr/lib/nvidia/bin/*; do
  ln -s /usr/lib/nvidia/bin/$(basename "$program") /newroot/usr/bin/$(basename "$program")
done
chroot /newroot /sbin/ldconfig
echo "script ends" >/dev/kmsg
# Undone, for the init.
umount /newroot/usr/lib/nvidia /newroot/dev /newroot
rmmod nvidia-uvm
rmmod nvidia
for node in /dev/nvidia*; do [ -d $node ] || rm -f $node; done
umount /run /sys /proc
echo "init begins" >/dev/kmsg
exec /init /usr/bin/busybox true
S
chmod +x root/script
(cd root && find . | cpio -o -H newc --quiet) >root.img
cat driver.img root.img >all.img
for boot in $(seq "$boots"); do
  timeout 200 qemu-system-x86_64 -machine q35 -accel tcg,thread=multi -cpu max -smp 2 -m 512 -display none \
    -serial "file:$boot.log" -monitor none -no-reboot -nic none -vga none -kernel "$kernel" -initrd all.img \
    -append "console=ttyS0 panic=-1 loglevel=7 printk.time=1 no_timer_check rdinit=/script HAS_GPU=1 gpuready.root=/second gpuready.check=0 nvidia.NVreg_Greeting=hello gpuready.after=poweroff" </dev/null || true
  python3 - "$boot.log" <<'P'
import re, sys
text = open(sys.argv[1], errors="replace").read()
at = {m[2]: float(m[1]) for m in re.finditer(r"\[ *([0-9.]+)\] (script begins|script ends|init begins)", text)}
ready = re.search(r"gpuready-guest: ([0-9.]+) ok ready gpu", text)
if len(at) < 3 or not ready:
    sys.exit(text[-3000:] + "\nguest_time.sh: a mark is missing")
script, init = at["script ends"] - at["script begins"], float(ready[1])
print(f"script {script * 1000:.0f} ms, gpuready-guest {init * 1000:.0f} ms, ratio {init / script:.2f}")
P
done
