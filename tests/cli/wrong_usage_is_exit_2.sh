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
# A variable that is not set drops no demand.
for empty in "detect --require-gpu=" "ternary verify -q --seed=" ; do
  expect_exit 2 "$GPUREADY" $empty
  expect_in "an argument is empty" "$err"
done
expect_exit 2 "$GPUREADY" detect --require-gpu ""
expect_exit 2 "$GPUREADY" ternary verify ""
# Numbers that nobody can mean.
for wrong in "detect --timeout nan" "test --device cpu --duration nan" "ternary verify --seed -1" \
  "ternary verify --seed 18446744073709551616" "ternary bench --shape 64x256x" "detect --require-gpu=0"; do
  expect_exit 2 "$GPUREADY" $wrong
done
# What is misspelt is named, and what would have no effect is refused.
expect_exit 2 "$GPUREADY" record --redcat
expect_in "no such option: --redcat" "$err"
for idle in "check --network host:1" "test --faults 2" "ternary verify --layout i2_s-x86" "detect --device 0"; do
  expect_exit 2 "$GPUREADY" $idle
done
expect_exit 2 "$GPUREADY" docter
expect_in "did you mean doctor?" "$err"
expect_exit 2 "$GPUREADY" detect --require-gpus
expect_in "gpuready: there is no such option: --require-gpus; did you mean --require-gpu?" "$err"
expect_exit 2 "$GPUREADY" check --fitness --network localhost
expect_in "gpuready: --network localhost: a port is missing" "$err"
expect_exit 2 "$GPUREADY" test --duration 1x
expect_in "1x is not a time" "$err"
for wrong in "status --valid 0:1 s to 31622400 s" "status --valid 400d:1 s to 31622400 s" "check --require-gpu=0:1 to 1024"; do
  expect_exit 2 "$GPUREADY" ${wrong%%:*}
  option=${wrong#* }
  expect_in "gpuready: $(tr = ' ' <<<"${option%%:*}"): must be from ${wrong#*:}" "$err"
done
expect_exit 0 "$GPUREADY" detect --timeout 5s -q
for help in help "help doctor" version -V; do
  expect_exit 0 "$GPUREADY" $help
done
# The value of an option is no command.
expect_exit 0 "$GPUREADY" --no-libraries --html test detect -q
grep -q "<html" test || die "the page is not in the file that was named"
expect_exit 4 "$GPUREADY" test --device cuda --only compute
