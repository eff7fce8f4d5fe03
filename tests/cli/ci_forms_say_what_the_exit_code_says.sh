. "$LIB"
machine=$MACHINES/driver-library-mismatch/machine.json
parse() {  # prints: failures errors, and whether the counts are those of the elements
  python3 - junit.xml <<'END'
import sys, xml.etree.ElementTree as tree
suite = tree.parse(sys.argv[1]).getroot()[0]
for word in ("failure", "error", "skipped"):
    assert int(suite.get(word + ("s" if word != "skipped" else ""))) == len(suite.findall(f"testcase/{word}")), word
assert int(suite.get("tests")) == len(suite.findall("testcase"))
print(suite.get("failures"), suite.get("errors"))
END
}
expect_exit 1 "$GPUREADY" doctor --replay "$machine" --junit junit.xml
[ "$(parse)" = "3 0" ] || die "$(cat junit.xml)"
expect_exit 0 "$GPUREADY" doctor --replay "$MACHINES/base-h100x1/machine.json" --junit junit.xml
[ "$(parse)" = "0 0" ] || die "$(cat junit.xml)"
# The summary is added to what an earlier command of the step wrote.
export GITHUB_STEP_SUMMARY=$PWD/summary
echo "earlier" >summary
expect_exit 1 "$GPUREADY" doctor --replay "$machine" --github
expect_in "::error title=driver-library-mismatch::The kernel module is 580.95.05" "$err"
[ "$(head -n 1 summary)" = earlier ] || die "$(cat summary)"
expect_in "driver-library-mismatch" "$(cat summary)"
# One byte more than 1 MiB, and GitHub would show nothing.
head -c 1048000 /dev/zero | tr '\0' x >summary
expect_exit 1 "$GPUREADY" doctor --replay "$machine" --github
[ "$(stat -c %s summary)" -le 1048576 ] || die "the summary is too long"
expect_in "too long for this summary" "$(tail -n 1 summary)"
# A summary that cannot be written is a lost report: 2, unless the report is of something unhealthy.
for lost in /dev/full "$PWD" "$PWD/no/summary"; do
  expect_exit 2 env GITHUB_STEP_SUMMARY="$lost" "$GPUREADY" doctor --replay "$MACHINES/base-h100x1/machine.json" --github
  expect_in "gpuready: cannot write to $lost: " "$err"
  expect_exit 1 env GITHUB_STEP_SUMMARY="$lost" "$GPUREADY" doctor --replay "$machine" --github
done
# The runner's file may be another user's (sudo -E, a job in a container) or a link, or not be there yet.
rm -f summary linked new
echo "earlier" >summary
ln -s summary linked
[ "$(id -u)" != 0 ] || chown 54321 summary
expect_exit 0 env GITHUB_STEP_SUMMARY=linked "$GPUREADY" doctor --replay "$MACHINES/base-h100x1/machine.json" --github
[ "$(head -n 1 summary)" = earlier ] && [ "$(wc -l <summary)" -gt 3 ] && [ -L linked ] || die "$err"
[ "$(id -u)" != 0 ] || [ "$(stat -c %u summary)" = 54321 ] || die "it was replaced"
expect_exit 0 env GITHUB_STEP_SUMMARY=new "$GPUREADY" doctor --replay "$MACHINES/base-h100x1/machine.json" --github
[ -s new ] || die "no summary was created"
# What a machine is called becomes no command to the runner in any form, and JSON still says it.
sed 's/NVIDIA H100 80GB HBM3/H100 ##[error]no/' "$MACHINES/base-h100x1/machine.json" >named.json
for form in --json --html --markdown --junit ""; do
  GITHUB_ACTIONS=true "$GPUREADY" doctor --replay named.json $form >said.txt 2>/dev/null || true
  ! grep -F '##[' said.txt || die "$form prints a command to GitHub's runner"
  [ "$form" != --json ] || [ "$(jq -r '.machine.gpus[0].name' said.txt)" = "H100 ##[error]no" ] || die "JSON has another name"
done
