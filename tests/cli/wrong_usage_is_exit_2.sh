. "$LIB"
expect_exit 2 "$GPUREADY" frobnicate
expect_in "no such subcommand: frobnicate" "$err"
expect_exit 2 "$GPUREADY" ternary frobnicate
expect_in "no such subcommand: frobnicate" "$err"
expect_exit 2 "$GPUREADY" ternary
expect_in "A subcommand is required" "$err"
expect_exit 2 "$GPUREADY" detect --no-such-option
expect_in "--no-such-option" "$err"
expect_exit 2 "$GPUREADY" detect --full --no-libraries
for command in "" check test selftest detect doctor record gpu-test "ternary inspect" "ternary convert" \
  "ternary verify" "ternary bench"; do
  expect_exit 0 "$GPUREADY" $command --help
done
expect_exit 0 "$GPUREADY" --version
