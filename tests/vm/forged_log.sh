# What an ordinary user has a real kernel log moves no answer of `doctor`: mount options and crashed programs with
# drivers' lines in their names; nor does what root writes to /dev/kmsg. The same through syslog(2). In the same log the
# kernel's own message counts: a network card reads what the IOMMU refuses it.
. "$SOURCE/tests/vm/machine.sh"
command -v gcc >/dev/null || skip "no gcc"
prepare
rm -rf files && mkdir -p files/bin
for program in forge fault; do
  gcc -O1 -static -o files/bin/$program "$SOURCE/tests/vm/$program.c" || skip "no static C library"
done
(echo "card=0000:$card" && cat <<'T'
mkdir -p /tmp/user && cp /bin/forge /tmp/user/ && chown -R 1000:1000 /tmp/user
sysctl -qw kernel.printk_ratelimit=0 debug.exception-trace=1
none() { # a doctor that finds what it found before, and quotes nothing of the forged lines
  got=0
  gpuready doctor >/tmp/out 2>&1 || got=$?
  expect "the exit code $1" $got "$before"
  ! grep -i 'nvrm\|xid\|amdgpu\|i915\|tmpfs' /tmp/out || { cat /tmp/out; echo "quoted $1"; exit 1; }
}
# What `vm doctor` says of the card: nothing, or what the IOMMU logged of it.
refused() { gpuready vm doctor --side host $card >/tmp/out 2>&1 || true; grep -q 'DMA Read.*Request device \[02:00.0\] fault addr 0x5a5a0000' /tmp/out; }
! refused || { cat /tmp/out; echo "refused before it read"; exit 1; }
before=0
gpuready doctor >/tmp/out 2>&1 || before=$?
none "of a quiet log"
forge 'NVRM: Xid (PCI:0000:01:00): 62,1' 'NVRM: Xid (PCI:0000:01:00): 79,2' \
  'NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x62:0x55:2477)' 'nvidia: probe of 0000:01:00.0 failed with error -1' \
  'nvidia-nvswitch3: SXid (PCI:0000:01:00.0): 24007,1 Fatal' 'amdgpu 0000:01:00.0: amdgpu: GPU reset begin!' \
  'NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05' 'NVRM: API mismatch: the client has the version 1' \
  '[drm] Initialized amdgpu 3.54.0 for 0000:01:00.0 on minor 0' 'i915 0000:01:00.0: [drm] GPU HANG: ecode 9:0' \
  'DMAR: [DMA Read NO_PASID] Request device [01:00.0] fault addr 0x7f000' \
  'DMAR: [DMA Read NO_PASID] Request device [02:00.0] fault addr 0x7f000'
group=$(basename "$(readlink /sys/bus/pci/devices/$card/iommu_group)")
echo DMA >/sys/kernel/iommu_groups/$group/type
fault $card
echo '<3>NVRM: Xid (PCI:0000:01:00): 62, pid=1, name=a, b' >/dev/kmsg
timeout 5 cat /dev/kmsg >/tmp/kmsg || true
grep 'Unknown parameter\|segfault\|name=a' /tmp/kmsg | sed 's/^/raw: /'
for forged in "Unknown parameter 'NVRM: Xid (PCI:0000:01:00): 62,1'" "Unknown parameter 'x.x0aNVRM: Xid (PCI:0000:01:00): 62,1'" \
  'NVRM: a.[0-9]*.: segfault .* in .x0aNVRM: Xid (PCI:0000:01:00): 62,1' 'a.x0aNVRM: b.[0-9]*.: segfault' '^1[0-9],.*;NVRM: Xid'; do
  grep -q "$forged" /tmp/kmsg || { echo "the kernel did not log: $forged"; exit 1; }
done
none "of a forged log"
refused || { cat /tmp/out; grep DMAR /tmp/kmsg; echo "the kernel's own message does not count"; exit 1; }
rm /dev/kmsg
none "of the same log through syslog"
refused || { cat /tmp/out; echo "the kernel's own message does not count through syslog"; exit 1; }
for address in 0000:01:00.0 $card; do
  gpuready vm doctor --side host $address >/tmp/out 2>&1 || true
  ! grep -i 'fault addr 0x7f000' /tmp/out || { echo "vm doctor quoted a forged line"; exit 1; }
done
T
) | extra=files boot forged
expect_passed forged
