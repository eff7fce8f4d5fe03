. "$LIB"
# What had ended when a run is interrupted is kept, under a name of its own, and never taken for a whole run.
rm -rf bench-results started interrupted.json
cat >stack.sh <<'END'
echo >>started
[ "$(wc -l <started)" -lt 3 ] || { echo waits >&2; exec sleep 300; }
exec "$GPUREADY" bench adapter
END
export MINE_BENCH_CMD="sh '$PWD/stack.sh'" GPUREADY
bench=("$GPUREADY" bench run --device cpu --task gemm --m 8 --n 16 --k 32 --max-seconds 0.1 --iters 4 --seed 1)
expect_exit 0 "${bench[@]}" --stack gpuready --repeats 2 --tag first
kept=$(cat bench-results/*__first.json)
for name in TERM INT HUP; do
  rm -f started
  "${bench[@]}" --stack mine --repeats 9 --tag first --replace --json=interrupted.json >cut.txt 2>&1 &
  run=$!
  until [ -e started ] && [ "$(wc -l <started)" = 3 ]; do
    kill -0 "$run" || die "it ended before: $(cat cut.txt)"
    sleep 0.1
  done
  kill -$name "$run"
  got=0
  wait "$run" || got=$?
  [ "$got" = 130 ] || die "exit $got instead of 130: $(cat cut.txt)"
  expect_in "nothing is ranked" "$(cat cut.txt)"
done
python3 - <<'END'
import json
run = json.load(open("interrupted.json"))["run"]
assert run["interrupted"] is True and run["tag"] == "first-interrupted", run
assert len(run["stacks"][0]["repeats"]) == 2, run["stacks"][0]
END
[ "$(ls bench-results/*__first-interrupted.json | wc -l)" = 3 ] || die "not kept: $(ls bench-results)"
# The tag is as it was, and so is what is latest.
[ "$kept" = "$(cat bench-results/*__first.json)" ] || die "an interrupted run replaced the tag's"
[ "$(cat bench-results/latest)" = first ] || die "latest is an interrupted run"
expect_exit 2 "$GPUREADY" bench compare first first-interrupted
expect_in "was interrupted" "$err"
expect_exit 0 "$GPUREADY" bench report first,first-interrupted --md report.md
expect_in "mine: interrupted" "$(cat report.md)"
# A run without a time replaces nothing either, and is kept beside what it would have replaced.
MINE_BENCH_CMD="sh -c 'exit 9'" expect_exit 1 "${bench[@]}" --stack mine --repeats 1 --tag first --replace
expect_in "No stack was timed, so nothing is replaced: 1 earlier run of first stays." "$(tr -s '\n ' ' ' <<<"$out")"
expect_in "with the tag first-failed" "$(tr -s '\n ' ' ' <<<"$out")"
[ "$kept" = "$(cat bench-results/*__first.json)" ] || die "a run without a time replaced the tag's"
[ "$(ls bench-results/*__first-failed.json | wc -l)" = 1 ] || die "not kept: $(ls bench-results)"
[ "$(cat bench-results/latest)" = first ] || die "latest is a run without a time"
expect_exit 0 "$GPUREADY" bench run --help
expect_in "1 precedes 130, 130 precedes 3" "$out"
# Before the first repeat has ended there is nothing to keep.
printf '1\n2\n' >started
"${bench[@]}" --stack mine --repeats 9 --tag none >cut.txt 2>&1 &
run=$!
until [ "$(wc -l <started)" = 3 ]; do kill -0 "$run" || die "it ended before"; sleep 0.1; done
kill -TERM "$run"
got=0
wait "$run" || got=$?
[ "$got" = 130 ] || die "exit $got instead of 130: $(cat cut.txt)"
[ -z "$(ls bench-results/*none* 2>/dev/null)" ] || die "a run without a repeat was kept"
# The tag of a first run without a time stays free, too.
MINE_BENCH_CMD="sh -c 'exit 9'" expect_exit 1 "${bench[@]}" --stack mine --repeats 1 --tag fresh
[ "$(ls bench-results/*__fresh-failed.json | wc -l)" = 1 ] || die "not kept: $(ls bench-results)"
! ls bench-results/*__fresh.json 2>/dev/null || die "a run without a time took the tag"
# What cannot be written is told before anything is timed, and a wrong name makes no folder.
rm -f started
echo >file
for place in --results --compat; do
  expect_exit 2 "${bench[@]}" --stack mine --repeats 1 --tag unkept $place file
  [ ! -e started ] || die "it was timed all the same"
done
! ls bench-results/*__unkept.json 2>/dev/null || die "it was kept"
expect_exit 2 "${bench[@]}" --stack nosuchstack --results never
[ ! -e never ] || die "a wrong --stack makes the folder of results"
# Two at once: the later one gives way, and nothing of it is lost.
cat >slow.sh <<'END'
echo >>slow
until [ "$(wc -l <slow)" -ge 2 ]; do sleep 0.1; done
exec "$GPUREADY" bench adapter
END
rm -f slow
export MINE_BENCH_CMD="sh '$PWD/slow.sh'"
"${bench[@]}" --stack mine --repeats 1 --tag race >one.txt 2>&1 &
run=$!
until [ -e slow ]; do kill -0 "$run" || die "it ended before: $(cat one.txt)"; sleep 0.1; done
cp bench-results/*__first.json "$(echo bench-results/*__first.json | sed s/__first/__race/)"
echo >>slow
wait "$run" || die "$(cat one.txt)"
expect_in "was taken meanwhile" "$(tr -s '\n ' ' ' <one.txt)"
[ "$(ls bench-results/*__race-*.json | wc -l)" = 1 ] || die "not kept: $(ls bench-results)"
[ "$(ls bench-results/*__race.json | wc -l)" = 1 ] || die "one tag of two: $(ls bench-results)"
