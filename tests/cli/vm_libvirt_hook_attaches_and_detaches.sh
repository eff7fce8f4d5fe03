. "$LIB"
# libvirt's hook, with XML in libvirt's own layout, and a gpuready that only records its arguments.
command -v virsh >/dev/null || skip "needs virsh (libvirt-clients)"
hook() {  # EXIT OPERATION
  local got=0
  PATH=$PWD/bin:$PATH "$SOURCE/src/products/vm/libvirt/qemu-hook" "web 1+@" "$2" begin - <dump.xml 2>stderr.txt || got=$?
  [ "$got" -eq "$1" ] || die "exit $got instead of $1: $2: $(cat stderr.txt)"
}
called() { [ "$(cat calls)" = "$1" ] || die "called: $(cat calls)"; rm calls; }
device() { echo "<hostdev mode='subsystem' type='pci' managed='$1'><driver name='vfio'/><source>
  <address domain='0x0000' bus='0x17' slot='0x00' function='$2'/></source></hostdev>"; }
interface() { echo "<interface type='hostdev' managed='$1'><mac address='52:54:00:6d:90:02'/><source>
  <address type='pci' domain='0x0000' bus='0x17' slot='0x00' function='$2'/></source></interface>"; }
uuid=c2177883-f1bb-47f0-914d-32a22e3a8804
mkdir -p bin
cat >bin/gpuready <<'END'
#!/bin/sh
echo "$*" >>calls
[ "$2" != "$REFUSED" ] || { echo "refused: quarantine"; exit "$CODE"; }
END
chmod +x bin/gpuready
export REFUSED=none CODE=0

libvirt_accepts "$(device no 0x0; device yes 0x1)
<hostdev mode='subsystem' type='mdev' managed='no' model='vfio-pci'><source><address uuid='$uuid'/></source></hostdev>
$(interface no 0x2)
$(interface yes 0x3)"
domain=$(sed -n 's:^  <uuid>\(.*\)</uuid>$:\1:p' dump.xml)
[ -n "$domain" ] || die "no UUID: $(cat dump.xml)"
rm -f calls
hook 0 prepare
called "vm detach --for libvirt:$domain --quiet
vm attach 0000:17:00.2 0000:17:00.0 $uuid --for libvirt:$domain --quiet"
hook 0 release
called "vm detach --for libvirt:$domain --quiet"
hook 0 start
[ ! -e calls ] || die "start: $(cat calls)"
# Nothing was attached; what is refused prevents the start, and libvirt shows the reason.
REFUSED=detach CODE=3 hook 0 release
REFUSED=detach CODE=1 hook 1 release
REFUSED=detach CODE=1 hook 1 prepare
expect_not_in "vm attach" "$(cat calls)"
REFUSED=attach CODE=1 hook 1 prepare
expect_in "quarantine" "$(cat stderr.txt)"
# Devices that libvirt manages, or none: the hook leaves them alone.
rm calls
libvirt_accepts "$(device yes 0x0)"
hook 0 prepare
[ ! -e calls ] || die "managed: $(cat calls)"
