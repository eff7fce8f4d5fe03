. "$LIB"
"$GPUREADY" detect --no-libraries --json=r.json --html r.html --md r.md --prom r.prom --quiet >/dev/null
jq -e . r.json >/dev/null
grep -q '</html>' r.html && grep -q '^# ' r.md && grep -q '^gpuready_' r.prom
[ "$(ls | grep -c part)" -eq 0 ] || die "left a temporary file"
expect_exit 2 "$GPUREADY" detect --no-libraries --json=/nonexistent/r.json
expect_in /nonexistent "$err"
