. "$LIB"
[ ! -e /proc/driver/nvidia ] || skip "this machine has a GPU"
expect_exit 0 "$GPUREADY" test --device cpu --only memory --level quick --json -
[ "$(echo "$out" | jq -r '[.verdicts[].test] | unique | join(" ")')" = memory ] || die "$out"
# The help lists the tests of docs/health-tests.md, each with its level.
documented=$(sed -nE 's/^\| ([a-z]+) \|.*\| (quick|standard|thorough) \|.*/\1 \2/p' "$SOURCE/docs/health-tests.md")
listed=$("$GPUREADY" test --help | sed -n '/^  --only/,/^  --duration/p' | tr -s ' \n' ' ' |
  sed 's/(from level \([a-z]*\));*/(\1)\n/g' | sed -nE 's/^ *(.*tests: )?([a-z]+): .*\(([a-z]+)\)$/\2 \3/p')
[ -n "$documented" ] && [ "$listed" = "$documented" ] || die "the help lists: $listed"
expect_exit 2 "$GPUREADY" test --only memroy
expect_in "memroy" "$err"
expect_exit 2 "$GPUREADY" test --level deep
expect_exit 2 "$GPUREADY" test --duration 0
