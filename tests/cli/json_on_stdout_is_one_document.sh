. "$LIB"
expect_exit 0 "$GPUREADY" --json - detect --no-libraries
jq -e '.schema == "gpuready.report" and .schema_version == 1 and .command == "detect"' stdout.txt >/dev/null || die "not our document: $out"
expect_exit 0 "$GPUREADY" detect --json
jq -e . stdout.txt >/dev/null || die "--json without a file is not standard output"
