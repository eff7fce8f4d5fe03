. "$LIB"
. "$SOURCE/tests/vm/stub_driver.sh"
rm -rf ./*
host=(--replay "$MACHINES/vm-host-h100/machine.json")
# said CODE "WHAT IS SAID" COMMAND...
said() { local code=$1 text=$2; shift 2; expect_exit "$code" "$@"; expect_in "$text" "$(tr -s '\n ' ' ' <<<"$out$err")"; }
said 2 "DEVICE zz:00.0: no such GPU here: 0 (" "$GPUREADY" vm plan zz:00.0 "${host[@]}"
absent='0000:99:00.0 is not a PCI device of this machine; `gpuready vm list --all` lists them'
said 3 "Nothing was done: $absent" "$GPUREADY" vm plan 99:00.0 "${host[@]}"
expect_not_in "refused: " "$out"
said 3 "$absent" "$GPUREADY" vm show 99:00.0 "${host[@]}"
said 3 "web-9: nothing is attached for it; gpuready vm status names what is" "$GPUREADY" vm args --for web-9 "${host[@]}"
said 2 "--for a b: a name has 1 to 128" "$GPUREADY" vm plan 17:00.0 --for "a b" "${host[@]}"
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --clear-groups test -x "$GPUREADY"; then
  said 2 "only root can attach and detach devices: run it with sudo" setpriv --reuid 65534 --clear-groups "$GPUREADY" vm attach 17:00.0 --for x
fi
# Archives: names that lead out, links, ends that are missing, other versions.
make_stub_driver driver 580.65.06
make_stub_driver other 570.86.16
python3 - <<'END'
import io, tarfile
def archive(name, member, link=None):
    with tarfile.open(name, "w:gz") as out:
        info = tarfile.TarInfo(member)
        if link:
            info.type, info.linkname = tarfile.SYMTYPE, link
        else:
            info.size = 4
        out.addfile(info, None if link else io.BytesIO(b"evil"))
archive("up.tgz", "../../libcuda.so.580.65.06")
archive("root.tgz", "/etc/libcuda.so.580.65.06")
archive("link.tgz", "lib/libcuda.so.580.65.06", "/etc/passwd")
END
{ printf '#!/bin/sh\nskip=3\n'; cat up.tgz; } >up.run
printf '#!/bin/sh\n' >empty.run
tar -czf whole.tgz driver
head -c 2000 whole.tgz >cut.tgz
before=$(ls -A)
for archive in up.tgz up.run root.tgz; do
  said 2 "$archive: refused: \"" "$GPUREADY" vm drivers collect $archive -o bundle
done
said 2 "links in archives are not followed" "$GPUREADY" vm drivers collect link.tgz -o bundle
said 2 "empty.run: a script that no archive follows; an installer NVIDIA-Linux-*.run has one" "$GPUREADY" vm drivers collect empty.run -o bundle
said 2 "cut.tgz: damaged or cut short, get it again" "$GPUREADY" vm drivers collect cut.tgz -o bundle
said 2 "several drivers are there: 570.86.16, 580.65.06; choose one with --driver-version" "$GPUREADY" vm drivers collect driver other -o bundle
said 2 "no libcuda.so.999.1 in driver; the drivers there: 580.65.06" "$GPUREADY" vm drivers collect driver --driver-version 999.1 -o bundle
[ "$(ls -A | grep -v txt)" = "$(grep -v txt <<<"$before")" ] || die "left something: $(ls -A)"
# A disk that is full or read-only, in a mount namespace of our own: the place is named as it was given, nothing is left.
if [ "$(id -u)" = 0 ] && unshare -m --propagation private true 2>/dev/null; then
  mkdir -p disk
  cat >disk.sh <<'END'
mount -t tmpfs -o size=64k none disk || exit 77
"$GPUREADY" vm drivers collect driver -o disk/bundle || echo "exit $?"
echo "left: $(ls -A disk)"
mount -o remount,ro disk
"$GPUREADY" vm drivers collect driver -o disk/bundle || echo "exit $?"
END
  unshare -m --propagation private bash disk.sh >disk.out 2>&1 || die "$(cat disk.out)"
  text=$(cat disk.out)
  expect_in "disk/bundle/" "$text"
  expect_in "No space left on device" "$text"
  expect_not_in ".tmp" "$text"
  expect_in "left: "$'\n' "$text"
  expect_in "cannot make a folder in disk: Read-only file system" "$text"
fi
