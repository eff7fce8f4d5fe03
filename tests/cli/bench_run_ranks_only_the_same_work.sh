. "$LIB"
# A command that answers by the contract without a digest, one that hangs, and gpuready itself.
cat >quick.sh <<'END'
echo noise
echo '{"status":"ok","latency_ms":{"mean":0.001,"p50":0.001,"p95":0.001,"min":0.001,"max":0.001}}'
END
# A process in a session of its own outlives no limit either.
cat >hangs.sh <<'END'
setsid sh -c 'echo $$ >far.pid; exec sleep 300' &
exec sleep 300
END
export QUICK_BENCH_CMD="sh '$PWD/quick.sh'" HANGS_BENCH_CMD="sh hangs.sh"
rm -rf bench-results suite far.pid
bench=("$GPUREADY" bench run --device cpu --task gemm --m 8 --n 16 --k 32 --max-seconds 0.1 --iters 4)
expect_exit 1 "${bench[@]}" --stack gpuready,quick,hangs,glow --silence 15 --repeats 1 --tag first --json=run.json
expect_in "It is not ranked: it " "$(tr -s " \n" " " <<<"$out")"  # of the faster one: ours in an optimised build
expect_in " reference)" "$(tr -s " \n" " " <<<"$out")"  # its name may take two lines, with figures between
expect_in "quick (unverified)" "$out"
expect_in "hangs: error: it wrote nothing for 15 s" "$out"
expect_in "glow: unavailable" "$out"
! kill -0 "$(cat far.pid)" 2>/dev/null || die "a process that a stack started lives"
[ -z "$(awk 'length($0) > 80' <<<"$out")" ] || die "wider than 80 columns: $out"
expect_in '"schema": "gpuready.bench-run"' "$(cat run.json)"
expect_not_in "..." "$out"
[ "$(cat bench-results/latest)" = first ] || die "latest is not the last tag"
# Without a digest it is timed, and compared with itself only.
expect_in '"unverified": true' "$(cat run.json)"
expect_exit 0 "${bench[@]}" --stack gpuready,quick --repeats 1 --tag second
expect_exit 2 "$GPUREADY" bench compare first second --allow load --stack gpuready=quick
expect_in "quick of second gave no digest" "$err"
expect_exit 4 "$GPUREADY" bench compare first second --allow load --stack quick
[ "$(grep -h -o '"input_seed": [0-9]*' bench-results/*.json | sort -u | wc -l)" = 2 ] || die "inputs are known before"
# A run waits for another one, wherever that has its temporary files, and says for whom.
mkdir -p tmp
flock /tmp/gpuready-bench.lock sh -c 'touch held; sleep 3; rm held' &
until [ -e held ]; do sleep 0.05; done
TMPDIR=$PWD/tmp expect_exit 0 "${bench[@]}" --stack gpuready --repeats 1 --tag waits
[ ! -e held ] || die "two runs at once"
expect_in "waiting for another bench run: process $! of user $(id -u) (flock " "$err"
echo first >bench-results/latest
# What was kept is what was printed, and compare reads it.
cmp run.json bench-results/*__first.json || die "the kept document is another"
# A tag is taken once.
expect_exit 2 "${bench[@]}" --repeats 1 --stack gpuready --tag first
expect_in "--add" "$err"
expect_exit 0 "${bench[@]}" --repeats 1 --stack gpuready --tag first --add
[ "$(ls bench-results/*__first.json | wc -l)" = 2 ] || die "--add made no second run"
expect_exit 0 "${bench[@]}" --repeats 1 --stack gpuready --tag first --replace
[ "$(ls bench-results/*__first.json | wc -l)" = 1 ] || die "--replace kept old runs"
# Repeats end when the times are known so well; what did not run is not lost.
expect_exit 0 "${bench[@]}" --stack gpuready --until 100% --tag until --json=until.json
expect_in '"until_percent": 100' "$(cat until.json)"
[ "$(grep -c '"samples_ns"' until.json)" -lt 20 ] || die "all repeats ran"
expect_exit 0 "${bench[@]}" --stack gpuready --until 100 --tag until --add
expect_exit 0 "$GPUREADY" bench report until
expect_not_in "repeats of gpuready" "$out"
# A stack that was named and is not here; names that are unknown.
expect_exit 3 "${bench[@]}" --repeats 2 --stack gpuready,glow
expect_exit 2 "${bench[@]}" --stack gpuredy
expect_exit 2 "${bench[@]}" --dtype tf32 --stack gpuready
expect_exit 2 "$GPUREADY" bench run --device cpu --hidden 9000 --stack gpuready
expect_in "mlp takes from 1 to 8192" "$err"
expect_exit 2 "${bench[@]}" --repeats 0 --stack gpuready
expect_in "must be from 1 to 10000" "$err"
QUICK_BENCH_CMD="sh 'x" expect_exit 2 "${bench[@]}" --stack quick
# The files of PyC's suite, and other programs' formats.
expect_exit 0 "${bench[@]}" --repeats 2 --stack gpuready --tag kept --compat suite/results
expect_in '"latency_ms"' "$(cat suite/results/kept.json)"
expect_in "## Unavailable" "$(cat suite/results/kept.md)"
[ "$(ls suite/results | wc -l)" = 4 ] || die "not four files: $(ls suite/results)"
expect_exit 0 "$GPUREADY" bench export kept
[ "$(wc -l <<<"$out")" = 3 ] || die "not a row of names and two repeats: $out"
expect_exit 0 "$GPUREADY" bench export kept --format google-benchmark --out google.json
{ cat google.json; echo; } >again.json  # another document
expect_exit 4 "$GPUREADY" bench compare google.json again.json
expect_exit 2 "$GPUREADY" bench export first,kept --format pyc
expect_in "holds one" "$err"
expect_exit 2 "$GPUREADY" bench export nowhere
