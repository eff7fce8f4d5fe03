. "$LIB"
# TQ2_0 with another scale in each block, as real files have it.
python3 - <<'PY'
import struct
name = b"blk.0.ffn_up.weight"
head = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", len(name)) + name
head += struct.pack("<IQQIQ", 2, 512, 4, 35, 0)
blocks = [bytes([0x98] * 64) + struct.pack("<e", 0.5 + i) for i in range(8)]
open("blocks.gguf", "wb").write(head + bytes(-len(head) % 32) + b"".join(blocks))
PY
expect_exit 4 "$GPUREADY" ternary verify --device cpu blocks.gguf
expect_in "not supported" "$out"
expect_in "blocks of different scales" "$out"
expect_not_in "exactly" "$out"
expect_exit 4 "$GPUREADY" ternary verify --device cpu blocks.gguf --json -
expect_in '"status": "not_supported"' "$out"
expect_in "but their products could not be verified" "$out"
expect_exit 0 "$GPUREADY" ternary inspect blocks.gguf
