. "$LIB"
# BitNet.rs' own I2_S: a scale for each 32 weights of the whole tensor, which rows of 48 do not begin with.
python3 - <<'PY'
import struct
def tensor(name, cols, rows, number, offset):
    return struct.pack("<Q", len(name)) + name + struct.pack("<IQQIQ", 2, cols, rows, number, offset)
codes, scales = bytes([0x4D] * 48), struct.pack("<6f", *(0.5 + i for i in range(6)))
head = b"GGUF" + struct.pack("<IQQ", 3, 2, 0)
head += tensor(b"blk.0.ffn_up.weight", 48, 4, 36, 0) + tensor(b"blk.0.ffn_up.weight.scale", 6, 1, 0, 64)
open("blocks.gguf", "wb").write(head + bytes(-len(head) % 32) + codes + bytes(16) + scales)
PY
expect_exit 4 "$GPUREADY" ternary verify --device cpu --layout i2_s-bitnet-rs blocks.gguf
expect_in "not supported" "$out"
expect_in "blocks of different scales" "$out"
expect_not_in "exactly" "$out"
expect_exit 4 "$GPUREADY" ternary verify --device cpu --layout i2_s-bitnet-rs blocks.gguf --json -
expect_in '"status": "not_supported"' "$out"
expect_in "but their products could not be verified" "$out"
