#!/usr/bin/python3
"""gguf.py OUT KIND: a small GGUF file for the tests: tq2, i2s, floats, bad-codes, overlap,
odd-name,
i2s-stale (what was in memory behind the scale), i2s-arm (another tensor excludes x86), tl1 (a shape of two
tilings)."""
import struct
import sys

out, kind = sys.argv[1:3]


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


codes = bytes((i * 7 + i // 3) % 3 for i in range(512))  # 0, 1, 2 for -1, 0, +1


def tq2_block(block):
    packed = bytes(sum(block[128 * (j // 32) + j % 32 + 32 * f] << 2 * f for f in range(4))
                   for j in range(64))
    return packed + struct.pack("<e", 0.5)


tq2 = b"".join(tq2_block(codes[i:i + 256]) for i in (0, 256))
i2s = b"".join(bytes(sum(codes[b + j + 32 * g] << 6 - 2 * g for g in range(4)) for j in range(32))
               for b in range(0, 512, 128)) + struct.pack("<f28x", 0.5)
floats = struct.pack("<512f", *(0.5 * (code - 1) for code in codes))
# 64 weights, which no block of 128 holds.
arm = bytes(sum(codes[j + 16 * g] << 6 - 2 * g for g in range(4)) for j in range(16)) + struct.pack("<f28x", 0.5)
type_number, data = {"i2s-stale": (36, i2s[:-28] + b"\xa5" * 28), "i2s-arm": (36, i2s),
                     "tl1": (38, bytes(i % 9 << 4 | i // 9 % 9 for i in range(1 << 20))), "tq2": (35, tq2), "i2s": (36, i2s), "floats": (0, floats),
                     "bad-codes": (35, b"\xff" * 64 + tq2[64:]), "overlap": (35, tq2), "odd-name": (35, tq2)}[kind]
pad = lambda data: data + bytes(-len(data) % 32)
tensors = [("w\n\x1b[2J\t.weight" if kind == "odd-name" else "w.weight", (4096, 1024) if kind == "tl1" else (256, 2), type_number, data), ("norm", (4,), 0, struct.pack("<4f", 1, 2, 3, 4))]
if kind == "i2s-arm":
    tensors.append(("v.weight", (64,), 36, arm))
if kind == "tl1":
    tensors.append(("w.weight_scale", (1,), 0, struct.pack("<f", 0.5)))
head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), 2)
head += text("general.architecture") + struct.pack("<I", 8) + text("bitnet")
head += text("general.file_type") + struct.pack("<II", 4, 1)
offset = 0
for name, dims, number, content in tensors:
    head += text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, number, offset)
    offset += len(pad(content)) if kind != "overlap" else 32
with open(out, "wb") as file:
    file.write(pad(head) + b"".join(pad(content) for _, _, _, content in tensors))
