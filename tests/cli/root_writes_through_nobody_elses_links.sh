. "$LIB"
[ "$(id -u)" = 0 ] || skip "only root can be several users"
machine=$MACHINES/xid-62/machine.json
report() { timeout 20 "$GPUREADY" doctor --replay "$machine" "$@"; }
# A host that others share: a folder of alice's, one as /tmp, and a file of root's.
place=$(mktemp -d); trap 'rm -rf "$place"' EXIT
chmod 755 "$place"; cd "$place"
mkdir alice sticky own; chown 54321:54321 alice; chmod 1777 sticky
echo secret >own/secret; chmod 600 own/secret
ln -s ../own/secret alice/link; ln -s ../own alice/folder; ln -s ../own/secret sticky/link
chown -h 54321:54321 alice/link alice/folder sticky/link
echo hers >alice/hers; chown 54321:54321 alice/hers
mkfifo alice/pipe own/pipe; chown 54321:54321 alice/pipe
ln own/secret own/same

for option in --json= "--html " "--md " "--prom "; do
  for output in alice/link alice/folder/new sticky/link alice/hers; do
    expect_exit 2 report $option"$output"
    expect_in "user 54321" "$err"
    [ -z "$out" ] || die "worked first: $out"
  done
  for output in alice/pipe own/pipe; do
    expect_exit 1 report $option"$output"  # what was found is told, and is worse than a lost report
    expect_in "$output" "$err"
    expect_in "Xid 62" "$out"
  done
done
[ "$(cat own/secret)" = secret ] && [ "$(stat -c %a:%h own/secret)" = 600:2 ] || die "root's file changed"
[ "$(cat alice/hers)" = hers ] && [ ! -e own/new ] || die "wrote where it should not"
if mknod own/disk b 240 200 2>/dev/null; then
  expect_exit 1 report --json=own/disk
  expect_in "block device" "$err"
fi

# What people do works: new files there, own links, standard output by its names, a pipe that is read.
expect_exit 1 report --json=alice/new
jq -e '.command == "doctor"' alice/new >/dev/null
ln -s secret own/link
expect_exit 1 report --json=own/link
[ -L own/link ] && jq -e . own/secret >/dev/null && [ "$(stat -c %a own/secret)" = 600 ] || die "own link"
cat own/pipe >read.json & reader=$!
sleep 0.2
expect_exit 1 report --json=own/pipe
wait "$reader"; jq -e . read.json >/dev/null
report --json=>(cat >substituted.json) >/dev/null || true
sleep 0.5; jq -e . substituted.json >/dev/null
expect_exit 1 report --json=/dev/null

# bench: root believes no results that others may change.
mkdir results
chown 54321 results
expect_exit 2 "$GPUREADY" bench history --results results
expect_in "belongs to another user (user 54321" "$err"
chown 0 results; chmod 777 results
expect_exit 2 "$GPUREADY" bench compare latest latest --results results
expect_in "other users may write there" "$err"

# An ordinary user writes through links of her own.
if command -v setpriv >/dev/null; then
  mkdir alice/real; ln -s real alice/short; chown -h 54321:54321 alice/real alice/short
  setpriv --reuid 54321 --regid 54321 --clear-groups \
    "$GPUREADY" doctor --fake none -q --json=alice/short/r.json >/dev/null 2>err.txt || [ $? -le 1 ] || die "$(cat err.txt)"
  jq -e . alice/real/r.json >/dev/null
fi
