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
for note in "n5.json does not describe a real machine: it is of a recording (--replay)." "n6.json does not describe a real machine: it is of a test with an injected fault."; do
  expect_in "$note" "$(tr -s '\n ' ' ' <<<"$out")"
done
expect_in "9 nodes: 2 ready, 1 bad, 6 unknown, 2 reports not read." "$out"
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
# What contradicts itself or does not fit is not taken; a text in another form gives the cure.
one() {  # JQ-FILTER: the exit code and the words about a good node's report, changed so
  jq "$1" nodes/n1.json >one.json
  "$GPUREADY" fleet merge one.json >one.txt && echo 0 || echo $?
}
for same in . '.exit_meaning = "as another version words it"'; do
  [ "$(one "$same")" = 0 ] || die "$same: not 0: $(cat one.txt)"
done
for change in '.gpu_status[].index = 0' '.machine.gpus[].uuid = "GPU-1"' '.verdicts |= map(select(.subject == "GPU 0"))' \
  '.verdicts[].uuid = "GPU-1"' '.verdicts[0].bad_words_total = 7' '.verdicts[3].status = "inconclusive"' '.verdicts[0].metrics[0].value = -1' \
  '.verdicts[1].metrics[0].value = 0'   '.exit_meaning = "something is unhealthy, or a GPU is on the bus but unusable"'; do
  [ "$(one "$change")" = 4 ] || die "$change: not 4: $(cat one.txt)"
  expect_in "contradicts itself" "$(cat one.txt)"
done
warning='{id: "w", severity: "warning", title: "w", gpus: [], evidence: [], action: "none"}'
[ "$(one ".findings = [range(64) | $warning] + [$warning | .severity = \"error\"]")" = 1 ] || die "not 1: $(cat one.txt)"
# A job that got one GPU of eight says nothing of the node.
for state in hidden not_ours; do
  [ "$(one ".gpu_status[range(1; 8)].status = \"$state\" | .verdicts |= map(select(.subject == \"GPU 0\"))")" = 0 ]
  expect_in "0 ready, 1 not tested" "$(cat one.txt)"
done
[ "$(one '.gpu_status[5].status = "not_ready"')" = 1 ] || die "not 1: $(cat one.txt)"
[ "$(one '.gpu_status = {}')" = 4 ] || die "not 4: $(cat one.txt)"
expect_in "gpu_status is not a list" "$(cat one.txt)"
[ "$(one 'del(.gpu_status[7])')" = 4 ] || die "not 4: $(cat one.txt)"
[ "$(one '.gpu_status[2].status = "splendid"')" = 4 ] || die "not 4: $(cat one.txt)"
[ "$(one '.verdicts = {"a": 1}')" = 4 ] || die "not 4: $(cat one.txt)"
[ "$(one '.machine = null')" = 4 ] || die "not 4: $(cat one.txt)"
cp nodes/n1.json broken.json && echo '{"schema": 1}' >>broken.json
expect_exit 4 "$GPUREADY" fleet merge broken.json
expect_in "1 node: 1 ready, 1 report not read." "$out"
(cat nodes/n1.json; jq '.exit_code = 1 | .gpu_status[0].status = "not_ready"' nodes/n1.json) >both.json
expect_exit 1 "$GPUREADY" fleet merge both.json
expect_in "2 reports at the same time, and the worst counts" "$(tr -s '\n ' ' ' <<<"$out")"
gzip -k nodes/n1.json
expect_exit 4 "$GPUREADY" fleet merge nodes/n1.json.gz
expect_in "is compressed: unpack it, such as by zcat" "$(tr -s '\n ' ' ' <<<"$out")"
iconv -f UTF-8 -t UTF-16 nodes/n1.json >wide.json
expect_exit 4 "$GPUREADY" fleet merge wide.json
expect_in "is UTF-16, not UTF-8" "$(tr -s '\n ' ' ' <<<"$out")"
(printf '\xef\xbb\xbf'; cat nodes/n1.json) >marked.json
expect_exit 0 "$GPUREADY" fleet merge marked.json
for list in , 'n1;reboot' 'a b$(id)'; do expect_exit 2 "$GPUREADY" fleet merge nodes/n1.json "--nodes=$list"; done
# Text that looks like a report and is not understood is a report that was not read.
jq -c . nodes/n1.json >short.json
jq -c '.exit_code = 1' nodes/n2.json >bad.json
for prefix in '> ' 'n2 | ' '[n2] ' '2026-11-27T03:00:00Z ' '\000'; do
  (cat short.json; printf "$prefix"; cat bad.json) >mixed.txt
  expect_exit 4 "$GPUREADY" fleet merge mixed.txt
  expect_in "a prefix that is not known" "$(tr -s '\n ' ' ' <<<"$out")"
done
(cat short.json; tail -c +200 bad.json) >mixed.txt
expect_exit 4 "$GPUREADY" fleet merge mixed.txt
# Lists, commas and marks of the byte order are accepted.
for between in , ' ' '\r\n' '\n\xef\xbb\xbf'; do
  (printf '['; cat short.json; printf "$between"; cat bad.json; echo ']') >mixed.txt
  expect_exit 1 "$GPUREADY" fleet merge mixed.txt
  expect_in "2 nodes: 1 ready, 1 bad." "$out"
done
mkdir -p deep/a/b/c/d/e && cp short.json deep/n1.JSON
expect_exit 4 "$GPUREADY" fleet merge deep
expect_in "is too deep" "$(tr -s '\n ' ' ' <<<"$out")"
rm -r deep/a && ln -s /nonexistent deep/n3.json
expect_exit 4 "$GPUREADY" fleet merge deep
rm deep/n3.json
expect_exit 0 "$GPUREADY" fleet merge deep
# Addresses stay whole, and names that are cut to the same one are refused.
sed 's/^/10.0.0.1: /' nodes/n1.json >labelled.txt
expect_exit 4 "$GPUREADY" fleet merge labelled.txt --nodes '10.0.0.[1-64]'
expect_in "64 nodes: 1 ready, 63 unknown" "$out"
expect_exit 2 "$GPUREADY" fleet merge labelled.txt --nodes 'n1.rack[1-2]'
expect_in "must differ before their first dot" "$err"
