. "$LIB"
for kind in bad-codes overlap; do
  /usr/bin/python3 "$SOURCE/tests/cli/gguf.py" $kind.gguf $kind
  expect_exit 1 "$GPUREADY" ternary inspect $kind.gguf
  expect_in "wrong: " "$out"
done
expect_exit 2 "$GPUREADY" ternary inspect "$LIB"
expect_in "not a GGUF file" "$err"
expect_exit 2 "$GPUREADY" ternary inspect /nonexistent
expect_exit 2 "$GPUREADY" ternary inspect /dev/null
