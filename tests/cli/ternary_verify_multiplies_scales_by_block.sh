. "$LIB"
# TQ2_0 with another scale in each block, as real files have it: also negative, zero and subnormal.
make_file() {
  python3 - "$1" "$2" <<'PY'
import struct, sys
name = b"blk.0.ffn_up.weight"
head = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", len(name)) + name
head += struct.pack("<IQQIQ", 2, 512, 4, 35, 0)
scales = [0x3800, 0xBC01, 0x0000, 0x0001, 0x7BFF, 0xFBFF, 0x3555, int(sys.argv[2], 0)]
blocks = [bytes([0x98] * 64) + struct.pack("<H", scale) for scale in scales]
open(sys.argv[1], "wb").write(head + bytes(-len(head) % 32) + b"".join(blocks))
PY
}
make_file blocks.gguf 0x2E66
expect_exit 0 "$GPUREADY" ternary verify --device cpu blocks.gguf
expect_in "1 of 1 ternary tensors are" "$out"
expect_exit 0 "$GPUREADY" ternary inspect blocks.gguf
make_file infinite.gguf 0x7C00
expect_exit 1 "$GPUREADY" ternary verify --device cpu infinite.gguf
expect_in "not finite" "$out"
