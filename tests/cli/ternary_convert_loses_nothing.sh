. "$LIB"
make() { /usr/bin/python3 "$SOURCE/tests/cli/gguf.py" "$1.gguf" "$1"; }
make tq2 && make i2s
expect_exit 0 "$GPUREADY" ternary convert tq2.gguf a.gguf --to tq1_0 --force
expect_in "general.file_type was 1 and is 36" "$err"
expect_exit 0 "$GPUREADY" ternary convert a.gguf b.gguf --to i2_s-x86 --force
expect_exit 0 "$GPUREADY" ternary convert b.gguf c.gguf --to tq2_0 --layout i2_s-x86 --force
expect_exit 0 "$GPUREADY" ternary convert i2s.gguf d.gguf --to tq2_0 --layout i2_s-x86 --force
cmp c.gguf d.gguf || die "the way by tq1_0 and i2_s gave other bytes"
# All but the file type is as it was.
[ "$(cmp -l tq2.gguf c.gguf | wc -l)" -eq 1 ] || die "more than the file type changed"
expect_exit 0 "$GPUREADY" ternary convert tq2.gguf e.gguf --to tq1_0 --force --json
jq -e '.converted == ["w.weight"] and .written.path == "e.gguf" and .failed == [] and .exit_code == 0' <<<"$out" >/dev/null ||
  die "the document does not tell what was done: $out"
for to in i2_s-bitnet-rs i2_s-bitnet-rs-inline; do
  expect_exit 0 "$GPUREADY" ternary convert d.gguf there --to $to --force
  expect_exit 0 "$GPUREADY" ternary inspect there
  expect_exit 0 "$GPUREADY" ternary convert there back.gguf --to tq2_0 --force
  cmp d.gguf back.gguf || die "the way by $to gave another file"
done
expect_exit 2 "$GPUREADY" ternary convert i2s.gguf f.gguf --to tq2_0 --layout i2_s-bitnet-rs --json
jq -e '.failed[0].name == "w.weight" and (has("written") | not) and .exit_code == 2' <<<"$out" >/dev/null ||
  die "the document does not tell what cannot be done: $out"
for json in tq2.gguf g.gguf ./g.gguf; do
  expect_exit 2 "$GPUREADY" ternary convert tq2.gguf g.gguf --to tq1_0 --force --json=$json
done
cmp c.gguf <("$GPUREADY" ternary convert tq2.gguf g.gguf --to i2_s-x86 --force -q &&
  "$GPUREADY" ternary convert g.gguf h.gguf --to tq2_0 --layout i2_s-x86 --force -q && cat h.gguf) ||
  die "a file was lost to the document"
