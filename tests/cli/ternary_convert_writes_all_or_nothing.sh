. "$LIB"
rm -f ./*.gguf*
make() { /usr/bin/python3 "$SOURCE/tests/cli/gguf.py" "$1.gguf" "$1"; }
make tq2 && make i2s && make floats && make bad-codes
expect_exit 2 "$GPUREADY" ternary convert i2s.gguf out.gguf --to tq2_0 --layout i2_s-bitnet-rs
expect_in "cannot convert w.weight" "$err"
expect_in "it cannot be i2_s-bitnet-rs" "$err"
expect_exit 2 "$GPUREADY" ternary convert bad-codes.gguf out.gguf --to tq1_0
for quiet in "" -q; do
  expect_exit 2 "$GPUREADY" ternary convert tq2.gguf out.gguf --to tq2_0 $quiet
  [ "$err" = "gpuready: tq2.gguf: every ternary tensor is tq2_0 already; nothing was written" ] || die "$err"
done
expect_exit 2 "$GPUREADY" ternary convert floats.gguf out.gguf --to tq2_0
expect_in "no tensor is ternary" "$err"
expect_exit 2 "$GPUREADY" ternary convert tq2.gguf tq2.gguf --to tq1_0 --force
ln -s tq2.gguf link.gguf
expect_exit 2 "$GPUREADY" ternary convert tq2.gguf link.gguf --to tq1_0 --force
expect_exit 2 "$GPUREADY" ternary convert floats.gguf out.gguf --to tq1_0 --from-float
expect_in "--tensor" "$err"
expect_exit 2 "$GPUREADY" ternary convert tq2.gguf /nonexistent/out.gguf --to tq1_0
[ ! -e out.gguf ] || die "wrote out.gguf"
echo mine >out.gguf
expect_exit 2 "$GPUREADY" ternary convert tq2.gguf out.gguf --to tq1_0
expect_in "--force" "$err"
expect_exit 2 "$GPUREADY" ternary convert i2s.gguf out.gguf --to i2_s-qk256 --force
expect_in "has only -2, -1, 1 and 2" "$err"
[ "$(cat out.gguf)" = mine ] || die "replaced by a failed conversion"
expect_exit 0 "$GPUREADY" ternary convert floats.gguf out.gguf --to tq1_0 --from-float --tensor 'w*' --force
expect_exit 0 "$GPUREADY" ternary inspect out.gguf
expect_in "tq1_0" "$out"
[ "$(ls | grep -c tmp-)" -eq 0 ] || die "left a temporary file"
