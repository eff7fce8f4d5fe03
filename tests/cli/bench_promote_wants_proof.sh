. "$LIB"
runs() { "$(dirname "$LIB")/bench_runs.py" bench-results "$@"; }
rm -rf bench-results
runs base 0 2 1000 1003 998 1001 999 1002
POOL=1 VARIABLE=POOL=1 runs idea 1 2 952 951 954 950 953 952
VARIABLE=POOL=1 COMMIT=2222222 runs two_ideas 1 2 952 951 954 950 953 952
runs slow 1 2 1052 1051 1054 1050 1053 1052
runs few 1 2 500 501
expect_exit 0 "$GPUREADY" bench promote base idea --idea POOL --md evidence.md
expect_in "Promote idea: gain in p50 by" "$out"
expect_in 'POOL: not set against "1"' "$out"
[ -z "$(awk 'length($0) > 80' <<<"$out")" ] || die "wider than 80 columns: $out"
expect_in "# Promotion of POOL" "$(cat evidence.md)"
expect_in "base-0, base-1" "$(cat evidence.md)"
expect_exit 1 "$GPUREADY" bench promote base slow
expect_in "worse in p50" "$out"
expect_exit 4 "$GPUREADY" bench promote base few
expect_in "the candidate has 2 of at least 3 runs" "$out"
expect_exit 2 "$GPUREADY" bench promote base two_ideas --idea POOL
expect_in "commit: 1111111 against 2222222" "$out"
expect_exit 2 "$GPUREADY" bench promote base idea --idea commit
expect_in "does not change commit" "$err"
expect_exit 0 "$GPUREADY" bench promote base idea --json -
expect_in '"decision": "promote"' "$out"
