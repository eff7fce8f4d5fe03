. "$LIB"
[ ! -e /proc/driver/nvidia ] || skip "this machine has a GPU"
expect_exit 4 "$GPUREADY" test --only tensor --json -
echo "$out" | jq -e 'any(.verdicts[]; .test == "tensor" and .reason != "")' >/dev/null || die "no reason: $out"
echo "$out" | grep -q "is tested instead" && die "it says that something was tested" || true
