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
jq -e '(.likely_layouts // []) == []' stdout.txt >/dev/null || die "likely though it was named: $out"
# Two answers are refused. Without one the likely layout is used, which is reported.
expect_exit 2 "$GPUREADY" ternary inspect i2s.gguf --layout i2_s-x86,i2_s-arm
expect_in "have one layout" "$err"
expect_exit 0 "$GPUREADY" ternary verify i2s.gguf --device cpu --json
expect_in "i2_s-x86 is likely: bitnet.cpp's converter writes it" "$err"
jq -e '.assumed_layouts[0].layout == "i2_s-x86" and .tensors[0].format == "i2_s-x86"' <<<"$out" >/dev/null || die "$out"
expect_exit 0 "$GPUREADY" ternary inspect i2s.gguf --json
jq -e '.likely_layouts[0].layout == "i2_s-x86" and .tensors[0].likely == "i2_s-x86" and .tensors[0].ambiguous' <<<"$out" >/dev/null || die "$out"
/usr/bin/python3 "$SOURCE/tests/cli/gguf.py" arm.gguf i2s-arm
expect_exit 0 "$GPUREADY" ternary inspect arm.gguf
expect_in "likely i2_s-arm" "$out"
expect_exit 0 "$GPUREADY" ternary convert i2s.gguf a.gguf --to tq2_0 --force --json
jq -e '.assumed_layouts[0].layout == "i2_s-x86"' <<<"$out" >/dev/null || die "$out"
expect_exit 0 "$GPUREADY" ternary convert i2s.gguf b.gguf --to tq2_0 --layout i2_s-x86 --force --quiet
expect_not_in "likely" "$err"
cmp a.gguf b.gguf || die "the likely layout is not the one that was named"
# What bitnet.cpp leaves behind the scale is not content.
/usr/bin/python3 "$SOURCE/tests/cli/gguf.py" stale.gguf i2s-stale
expect_exit 0 "$GPUREADY" ternary inspect stale.gguf
expect_exit 0 "$GPUREADY" ternary verify stale.gguf --device cpu
expect_exit 0 "$GPUREADY" ternary convert stale.gguf c.gguf --to tq2_0 --force
cmp a.gguf c.gguf || die "stale padding changed the weights"
expect_exit 0 "$GPUREADY" ternary verify i2s.gguf --device cpu --layout i2_s-x86
