. "$LIB"
# A GGUF file of one TQ2_0 tensor of 4 x 256: code 1 (a zero) everywhere but where $1 says.
make_file() {
  python3 - "$1" "$2" <<'PY'
import struct, sys
name = b"blk.0.ffn_up.weight"
head = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", len(name)) + name
head += struct.pack("<IQQIQ", 2, 256, 4, 35, 0)
blocks = [bytearray([0x55] * 64 + [0x00, 0x3C]) for _ in range(4)]
blocks[1][5] = int(sys.argv[2], 0)
open(sys.argv[1], "wb").write(head + bytes(-len(head) % 32) + b"".join(blocks))
PY
}
make_file good.gguf 0x98
expect_exit 0 "$GPUREADY" ternary verify --device cpu good.gguf
expect_in "tq2_0" "$out"
expect_in "1 of 1 ternary tensors are" "$out"
make_file bad.gguf 0xFF
expect_exit 1 "$GPUREADY" ternary verify --device cpu bad.gguf --json -
expect_in '"exit_code": 1' "$out"
expect_exit 2 "$GPUREADY" ternary verify no-such-file.gguf
head -c 50 good.gguf >cut.gguf
expect_exit 2 "$GPUREADY" ternary verify cut.gguf
expect_in "cut.gguf" "$err"
