#!/usr/bin/env bash
# libvirt's own daemon calls the hook. By hand, as root, on Debian with libvirt-daemon, libvirt-clients and QEMU:
#   tests/vm/libvirt_daemon.sh [GPUREADY]        (default: build/release/src/gpuready)
# The daemon runs in namespaces of its own, with its files in memory. The domain names a PCI device that no machine
# has, so no device of this machine is touched.
set -euo pipefail
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
gpuready=$(realpath "${1:-$source/build/release/src/gpuready}")
for tool in libvirtd virsh qemu-system-x86_64; do
  command -v $tool >/dev/null || { echo "SKIPPED: $tool is not installed" >&2; exit 77; }
done
[ "${INSIDE:-}" = yes ] || INSIDE=yes exec unshare -mpfn --mount-proc --propagation private "$0" "$gpuready"

die() { echo "FAILED: $*" >&2; tail -n 3 /run/libvirtd.log >&2; exit 1; }
for folder in /run /etc/libvirt /var/lib/libvirt /var/cache/libvirt /var/log /var/lib/gpuready; do
  [ ! -d $folder ] || mount -t tmpfs tmpfs $folder
done
mkdir -p /run/bin /etc/libvirt/hooks/qemu.d /run/lock
cp "$gpuready" /run/bin/gpuready.real
cat >/run/bin/gpuready <<'END'
#!/bin/sh
echo "$*" >>/run/calls
[ ! -e /run/real ] || exec /run/bin/gpuready.real "$@"
END
chmod +x /run/bin/gpuready
export PATH=/run/bin:$PATH
cp "$source/src/products/vm/libvirt/qemu-hook" /etc/libvirt/hooks/qemu.d/gpuready
printf 'user = "root"\ngroup = "root"\nremember_owner = 0\nnamespaces = []\nsecurity_driver = "none"\ncgroup_controllers = []\nstdio_handler = "file"\n' \
  >/etc/libvirt/qemu.conf
echo 'auth_unix_rw = "none"' >/etc/libvirt/libvirtd.conf
# The user that libvirt-daemon-system makes.
for file in passwd:64055::/:/bin/false group:; do
  cp "/etc/${file%%:*}" /run/
  grep -q ^libvirt-qemu: "/run/${file%%:*}" || echo "libvirt-qemu:x:64055:${file#*:}" >>"/run/${file%%:*}"
  mount --bind "/run/${file%%:*}" "/etc/${file%%:*}"
done
libvirtd >/run/libvirtd.log 2>&1 &
virsh="virsh -q -c qemu:///system"
for _ in $(seq 100); do $virsh list >/dev/null 2>&1 && break; sleep 0.1; done
domain() {  # NAME DEVICES
  uuid=$(cat /proc/sys/kernel/random/uuid)
  echo "<domain type='qemu'><name>$1</name><uuid>$uuid</uuid><memory unit='MiB'>64</memory><os><type machine='q35'>hvm</type></os>
<devices><emulator>$(command -v qemu-system-x86_64)</emulator><controller type='usb' model='none'/><memballoon model='none'/>
$2</devices></domain>" >/run/domain.xml
  $virsh define /run/domain.xml >/dev/null
}
called() { [ "$(cat /run/calls 2>/dev/null)" = "$1" ] || die "called: $(cat /run/calls 2>/dev/null)"; rm -f /run/calls; }

domain plain ""
$virsh start plain >/dev/null
called ""
$virsh destroy plain >/dev/null
called "vm detach --for libvirt:$uuid --quiet"

domain "web 1+@" "<hostdev mode='subsystem' type='pci' managed='no'><source>
<address domain='0x0000' bus='0xfe' slot='0x1f' function='0x7'/></source></hostdev>"
# The hook's attach holds, and QEMU cannot start: what was attached is returned.
! $virsh start "web 1+@" >/run/out 2>&1 || die "it started"
called "vm detach --for libvirt:$uuid --quiet
vm attach 0000:fe:1f.7 --for libvirt:$uuid --quiet
vm detach --for libvirt:$uuid --quiet"
# gpuready itself refuses, and virsh shows why.
touch /run/real
! $virsh start "web 1+@" >/run/out 2>&1 || die "it started"
grep -q "0000:fe:1f.7 is not a PCI device of this machine" /run/out || die "virsh says: $(cat /run/out)"
echo PASSED
