. "$LIB"
# PTX 9.1 for 7.5: a driver of CUDA 13.0 does not compile it.
/usr/bin/python3 - <<'PY'
import struct
for name, minor in ("new", 1), ("edge", 0):
    ptx = b".version 9.%d\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n" % minor
    ptx += b"\0" * (-len(ptx) % 8)
    entry = struct.pack("<HHIQIIHHIIIQQQ", 1, 0x101, 64, len(ptx), 0, 0, minor, 9, 75, 0, 0, 0x11, 0, 0) + ptx
    open(name + ".fatbin", "wb").write(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry)) + entry)
PY
expect_exit 1 "$GPUREADY" pack explain new.fatbin --gpu 8.6,9.0 --driver 580.65.06
expect_in "PTX 9.1 needs a driver of CUDA 13.1 (590.44.01)" "$out"
expect_in "driver 590.44.01 or newer" "$out"
expect_exit 0 "$GPUREADY" pack explain new.fatbin --gpu 8.6 --driver 590.44.01
expect_exit 0 "$GPUREADY" pack explain new.fatbin --gpu 8.7 --cuda 13.1
expect_exit 1 "$GPUREADY" pack explain new.fatbin --gpu 7.0
expect_in "a build for sm_70 with CUDA 9.0 to 12.9" "$out"
expect_exit 1 "$GPUREADY" pack explain new.fatbin --gpu gfx942
expect_exit 0 "$GPUREADY" pack explain new.fatbin --gpu '8.6, 9.0' --driver 590.44.01
expect_exit 2 "$GPUREADY" pack explain new.fatbin --gpu 8.6 --replay machine.json
expect_in "--gpu" "$err"
expect_exit 0 "$GPUREADY" pack explain edge.fatbin --gpu 8.6 --cuda 13
expect_exit 2 "$GPUREADY" pack explain nofile
expect_in "nofile" "$err"
expect_exit 2 "$GPUREADY" pack explain new.fatbin --gpu fast
expect_exit 2 "$GPUREADY" pack explain new.fatbin --gpu 8.6 --driver new
expect_exit 1 "$GPUREADY" pack explain new.fatbin --gpu 8.6 --driver 580.65.06 --json -
[ "$(jq -r '.files[0].runs_on[0].change.driver' stdout.txt)" = 590.44.01 ] || die "no driver in the document"
