. "$LIB"
/usr/bin/python3 "$SOURCE/tests/cli/gguf.py" i2s.gguf i2s
expect_exit 0 "$GPUREADY" ternary inspect i2s.gguf
expect_in "ambiguous" "$out"
expect_in "possible i2_s-x86" "$out"
expect_in "possible i2_s-arm" "$out"
expect_in "excluded i2_s-bitnet-rs" "$out"
expect_in "scale 0.5" "$out"
expect_exit 0 "$GPUREADY" ternary inspect i2s.gguf --layout i2_s-x86 --json
jq -e '.schema == "gpuready.ternary-inspect" and .tensors[0].format == "i2_s-x86" and .ambiguous_tensors == 0' stdout.txt >/dev/null || die "$out"
expect_exit 2 "$GPUREADY" ternary inspect i2s.gguf --layout I2_S
expect_in "name one of i2_s-x86" "$err"
# Nothing is guessed from two answers, or from none.
expect_exit 2 "$GPUREADY" ternary inspect i2s.gguf --layout i2_s-x86,i2_s-arm
expect_in "have one layout" "$err"
expect_exit 2 "$GPUREADY" ternary verify i2s.gguf --device cpu
expect_in "name one with --layout" "$err"
expect_exit 0 "$GPUREADY" ternary verify i2s.gguf --device cpu --layout i2_s-x86
