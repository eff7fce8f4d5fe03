# Writes the documents of `gpuready pack` that validate.py reads: pack_documents.sh FOLDER.
set -euo pipefail
mkdir -p "$1/pack"
/usr/bin/python3 - "$1/pack" <<'PY'
import struct, sys
def entry(kind, isa, arch, flags, payload):
    payload += b"\0" * (-len(payload) % 8)
    return struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, len(payload), 0, 0, *isa, arch, 0, 0, flags, 0, 0) + payload
ptx = b".version 9.1\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n"
body = entry(1, (1, 9), 75, 0x11, ptx) + entry(8, (61, 1), 80, 0x11, b"lto")
whole = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body
open(sys.argv[1] + "/good.fatbin", "wb").write(whole)
open(sys.argv[1] + "/damaged.fatbin", "wb").write(whole.replace(struct.pack("<HHI", 8, 0x101, 64), struct.pack("<HHI", 3, 0x101, 64)))
PY
cp "$GPUREADY" "$1/pack/program"
"$GPUREADY" pack inspect "$1/pack" --json="$1/pack-inspect.folder.json" >/dev/null || [ $? -eq 1 ]
"$GPUREADY" pack explain "$1/pack" --gpu 8.6,8.7,gfx942 --driver 580.65.06 \
  --json="$1/pack-explain.folder.json" >/dev/null || [ $? -eq 1 ]
rm -r "$1/pack"
