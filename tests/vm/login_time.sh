# From power-on to the login of a Debian: with its own initrd (initramfs-tools), and with ours and a stub driver; the
# same kernel, disk and command line otherwise, alternately. By hand: login_time.sh [PAIRS], in a folder of its own with
# $GPUREADY, $SOURCE and $VM_BASE.
. "$SOURCE/tests/vm/machine.sh"
. "$SOURCE/tests/vm/stub_driver.sh"
. "$SOURCE/tests/vm/stock_root.sh"
pairs=${1:-3}
prepare
rm -rf driver bundle modules ./*.img
stock_root bookworm initramfs-tools zstd
if [ ! -e bookworm/boot/initrd.img-"$release" ]; then
  mkdir -p bookworm/lib/modules
  cp -r "$VM_BASE/kernel/lib/modules/$release" bookworm/lib/modules/
  cp "$VM_BASE/kernel/boot/config-$release" bookworm/boot/
  unshare --mount --propagation private sh -euc 'mount -t proc proc bookworm/proc
    chroot bookworm update-initramfs -c -k "$1"' sh "$release" >initramfs.log 2>&1 ||
    { cat initramfs.log; die "no initrd"; }
fi
cp bookworm/boot/initrd.img-"$release" debian.img
truncate -s 1200M root.img && mkfs.ext4 -q -L stock-root -d bookworm root.img
stock_initrd
ls -l debian.img driver.img
python3 - "$pairs" "$kernel" "$kernel_words" <<'P'
import os, re, resource, statistics, subprocess, sys, time

def processor():  # of ended children: other load changes it less than the time
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

def boot(initrd, words):
    start, used = time.monotonic(), processor()
    qemu = subprocess.Popen(
        ["qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2",
         "-m", "1024", "-display", "none", "-serial", "stdio", "-monitor", "none", "-no-reboot", "-nic", "none", "-vga", "none",
         "-snapshot", "-kernel", sys.argv[2], "-initrd", initrd, "-drive", "file=root.img,format=raw,if=none,id=root",
         "-device", "virtio-blk-pci,drive=root", "-append", f"{sys.argv[3]} root=LABEL=stock-root rw {words}"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    text = b""
    while b"login:" not in text:
        piece = os.read(qemu.stdout.fileno(), 4096)
        if not piece or time.monotonic() - start > 400:
            qemu.kill()
            sys.exit(text[-2000:].decode(errors="replace") + "\nlogin_time.sh: no login")
        text += piece
    seconds = time.monotonic() - start
    qemu.kill()
    qemu.wait()
    return seconds, processor() - used, text.decode(errors="replace")

more, more_processor, drivers = [], [], []
for pair in range(int(sys.argv[1])):
    times, used = {}, {}
    for kind in ("debian", "ours") if pair % 2 == 0 else ("ours", "debian"):
        load = os.getloadavg()[0]
        times[kind], used[kind], text = (boot("debian.img", "") if kind == "debian"
                                         else boot("driver.img", "HAS_GPU=1 gpuready.check=0"))
        print(f"{kind} {times[kind]:.1f} s, {used[kind]:.1f} s of processor time, load {load:.1f}", flush=True)
        if kind == "ours":
            if "ok ready gpu: GPU ready" not in text:
                sys.exit(text[-2000:] + "\nlogin_time.sh: no GPU")
            at = lambda step: float(re.search(r"gpuready-guest: ([0-9.]+) ok " + step, text)[1])
            drivers.append(at("ready") - at("root"))
            print(f"  init: root {at('root'):.2f} s, ready {at('ready'):.2f} s, hand-over {at('start'):.2f} s")
    more.append(times["ours"] - times["debian"])
    more_processor.append(used["ours"] - used["debian"])
for what, values in ("time", more), ("processor time", more_processor):
    each = ", ".join(f"{x:+.1f}" for x in values)
    print(f"ours - debian, {what}: {each} s, median {statistics.median(values):+.1f} s")
print(f"driver, from the root to ready: median {statistics.median(drivers):.2f} s")
P
