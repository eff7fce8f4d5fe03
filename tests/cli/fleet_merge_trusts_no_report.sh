. "$LIB"
rm -rf nodes && mkdir -p nodes
"$SOURCE/tests/fleet/nodes.py" "$GPUREADY" nodes 9 n2:hostile n3:stale n4:ahead n5:replayed n6:injected
sed 's/n7.cluster/n8.cluster/' nodes/n7.json >nodes/x.json  # a second machine of that name
rm nodes/n7.json
expect_exit 1 "$GPUREADY" fleet merge nodes --nodes n[1-9] --html fleet.html --md fleet.md --json=fleet.json
expect_in "n3: The latest report is" "$out"
expect_in "n4: Its clock is" "$out"
expect_in "n8: 2 machines report under this name." "$out"
expect_in "n[5-7]: It did not report." "$out"
expect_in "n5.json does not describe a real machine" "$(tr -s '\n ' ' ' <<<"$out")"
expect_in "9 nodes: 2 ready, 1 bad, 6 unknown." "$out"
for file in fleet.html fleet.md; do expect_not_in "<script>" "$(cat $file)"; done
! LC_ALL=C grep -q $'[\x01-\x08\x0e-\x1f]' stdout.txt fleet.html fleet.md || die "control characters"
[ "$(wc -c <fleet.html)" -lt 100000 ] || die "long texts are kept"
[ "$(jq '[.. | strings | length] | max' fleet.json)" -le 300 ] || die "long texts are kept"
# Not a report, too long, nested too deep: a note each.
echo '{"schema": "gpuready.status"}' >nodes/n5.json
python3 -c 'print("{\"a\":" * 100 + "1" + "}" * 100)' >nodes/n6.json
python3 -c 'print("{\"a\": \"" + "x" * (9 << 20) + "\"}")' >nodes/n7.json
expect_exit 1 "$GPUREADY" fleet merge nodes
for note in "is not a report" "nested deeper" "longer than"; do expect_in "$note" "$(tr -s '\n ' ' ' <<<"$out")"; done
