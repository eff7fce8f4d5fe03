. "$LIB"
machine=$MACHINES/xid-62/machine.json
/usr/bin/python3 "$SOURCE/tests/cli/gguf.py" model.gguf tq2
cp model.gguf before.gguf
# A report takes the place of no model, and of nothing that the command reads.
expect_exit 2 "$GPUREADY" ternary verify --device cpu -q --json=model.gguf
expect_in "it holds a GGUF file" "$err"
expect_exit 2 "$GPUREADY" ternary inspect model.gguf --json=model.gguf
expect_in "the command itself reads it" "$err"
cmp model.gguf before.gguf || die "the model was replaced"
"$GPUREADY" record machine.tar.zst -q
cp machine.tar.zst same.tar.zst
ln -sf machine.tar.zst link.json
expect_exit 2 "$GPUREADY" detect --replay machine.tar.zst --json=link.json
cmp machine.tar.zst same.tar.zst || die "the recording was replaced"
# Nor of a machine on which the one that is read builds, nor of one that is standard output.
printf '{"schema": "gpuready.machine-script", "schema_version": 1, "description": "x", "source": "y", "extends": "%s"}\n' "$machine" >base.json
sed "s|$machine|base.json|" base.json >top.json
cp base.json same.json
expect_exit 2 "$GPUREADY" doctor --replay top.json --html base.json
expect_in "the description of a machine" "$err"
"$GPUREADY" doctor --replay base.json --json >>base.json 2>stderr.txt && die "standard output was what is read"
cmp base.json same.json || die "the machine was changed"
# Nor of a file of this machine that the command has read.
if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
  for words in "detect --no-libraries --html" "record"; do
    # shellcheck disable=SC2016,SC2086
    unshare -m bash -c 'cp /etc/os-release mine && mount --bind mine "$(realpath /etc/os-release)" && cp mine before &&
      ! "$0" "$@" "$(realpath /etc/os-release)" >/dev/null 2>err.txt; cmp mine before && grep -q "has read it" err.txt' \
      "$GPUREADY" $words || die "$words: a file of the system was replaced: $(cat err.txt)"
  done
fi
# What cannot be written is told before any work, and a report that is lost at the end is shown all the same.
expect_exit 2 "$GPUREADY" doctor --replay "$machine" --html no-such-folder/x.html
expect_in "cannot write in no-such-folder" "$err"
expect_exit 2 "$GPUREADY" doctor --replay "$machine" --html - --json -
[ -z "$out" ] || die "one was written: $out"
expect_exit 1 "$GPUREADY" doctor --replay "$machine" --json=/dev/full
expect_in "Xid 62" "$out"

# /dev/stdout is standard output: nothing is laid over it, and what a file had stays.
echo KEEP >appended
"$GPUREADY" detect --no-libraries --json=/dev/stdout >>appended || die "exit $?"
[ "$(head -n 1 appended)" = KEEP ] || die "the file's start is gone"
tail -n +2 appended | jq -e '.command == "detect"' >/dev/null || die "no JSON follows"
# Messages never land in a file, whatever is closed.
(exec 2>&-; "$GPUREADY" ternary convert model.gguf out.gguf --to tq1_0 --force) || die "exit $?"
"$GPUREADY" ternary convert model.gguf again.gguf --to tq1_0 --force 2>/dev/null || die "exit $?"
cmp out.gguf again.gguf || die "a message is in the file"
"$GPUREADY" record here.tar.zst 2>/dev/full || die "record: exit $?"
# Two reports do not share a file; a device is no file.
rm -f shared
expect_exit 2 "$GPUREADY" doctor --fake none --html shared --md shared
expect_in "--html is written there" "$err"
expect_exit 2 "$GPUREADY" doctor --fake none --html shared --md "$PWD/../$(basename "$PWD")/shared"
expect_exit 2 "$GPUREADY" doctor --fake none --html ./shared --json=shared
[ ! -e shared ] || die "wrote one of two reports"
: >shared; ln -f shared other
expect_exit 2 "$GPUREADY" doctor --fake none --html shared --md other
"$GPUREADY" doctor --fake none --html /dev/null --md /dev/null >out.txt 2>err.txt || [ $? -le 1 ] || die "$(cat err.txt)"
# A name that holds a newline begins no message of its own.
expect_exit 2 "$GPUREADY" ternary inspect $'x\ngpuready: forged'
grep -q '^gpuready: forged' <<<"$err" && die "forged: $err" || true
