. "$LIB"
# Own adapters of a round start at the same time, and none while another one is timed. One that fails, dies or hangs
# costs only itself, and an interrupt ends those that wait.
rm -rf bench-results log
# In place of python3: `python -I -B -u .../xla.py`. $1 in `said` is a step of it.
cat >python <<'END_OF_SCRIPT'
#!/bin/sh
name=$(basename "${4:-$1}" .py)
said() { echo "$name $1 $(date +%s%N) $$" >>log; }
said starts
sleep 0.3
if [ -n "${BENCH_GATE:-}" ]; then
  case $name-$BENCH_FAULT in
    xla-cannot_share) exit 9 ;;
    xla-dies) said ready; echo ready >&3; exec sh -c 'kill -9 $$' ;;
    xla-hangs) said ready; echo ready >&3; exec sleep 300 ;;
  esac
  said ready
  echo ready >&3
  read -r opened <&3 || exec sleep 300  # whoever ends it must kill it
fi
said times
case $BENCH_FAULT in
  endless) while :; do sleep 0.5; echo >&2; done ;;
  slow) for step in $(seq 16); do sleep 0.5; echo "$step" >&2; done ;;
esac
"$GPUREADY" bench adapter --stack gpuready
said ends
END_OF_SCRIPT
chmod +x python
export GPUREADY BENCH_PYTHON=$PWD/python MINE_BENCH_CMD="'$PWD/python' mine"
bench=("$GPUREADY" bench run --device cpu --task gemm --m 8 --n 16 --k 32 --max-seconds 0.1 --iters 4 --json=run.json
  --silence 6 --timeout 60)
# status STACK STATUS [REASON]: of the latest run.
status() {
  python3 - "$@" <<'END_OF_CHECK' || die "$1 is not $2"
import json, sys
stack = {s["id"]: s for s in json.load(open("run.json"))["run"]["stacks"]}[sys.argv[1]]
assert stack["status"] == sys.argv[2], stack
assert "".join(sys.argv[3:]) in stack.get("reason", ""), stack["reason"]
END_OF_CHECK
}
overlaps() {  # how many pairs of start-ups overlap; fails where one overlaps a timing
  python3 - <<'END_OF_CHECK'
import collections, itertools
of = collections.defaultdict(dict)
for line in open("log"):
    name, step, ns, pid = line.split()
    of[name, pid][step] = int(ns)
startups = [(one["starts"], one.get("ready", one.get("times"))) for one in of.values()]
timings = [(one["times"], one["ends"]) for one in of.values()]
both = lambda a, b: a[0] < b[1] and b[0] < a[1]
assert not [1 for a, b in itertools.product(startups, timings) if both(a, b)], dict(of)
print(sum(both(a, b) for a, b in itertools.combinations(startups, 2)))
assert not [1 for a, b in itertools.combinations(timings, 2) if both(a, b)], dict(of)
assert all("ready" not in one for (name, _), one in of.items() if name == "mine"), dict(of)
END_OF_CHECK
}
cores=$(nproc)
BENCH_FAULT= expect_exit 0 "${bench[@]}" --stack torch_eager,mine,xla,tvm --repeats 2 --tag together
pairs=$(overlaps) || die "a start-up overlaps a timing: $(cat log)"
[ "$cores" = 1 ] || [ "$pairs" -ge 2 ] || die "$pairs pairs of start-ups overlap: $(cat log)"
[ "$cores" = 1 ] || expect_in '"startups_overlapped": true' "$(cat run.json)"
for stack in torch_eager mine xla tvm; do status $stack ok; done

rm log
BENCH_FAULT= expect_exit 0 "${bench[@]}" --stack torch_eager,mine,xla,tvm --repeats 2 --tag apart --no-overlap
[ "$(overlaps)" = 0 ] || die "they overlap: $(cat log)"
expect_not_in startups_overlapped "$(cat run.json)"
expect_exit 4 "$GPUREADY" bench compare together apart --allow load  # too few repeats
[ "$cores" -gt 1 ] || exit 0

# What ends before its gate is tried once more by itself.
BENCH_FAULT=cannot_share expect_exit 0 "${bench[@]}" --stack torch_eager,xla --repeats 2
status xla ok
# The wait at the gate is not silence.
BENCH_FAULT=slow expect_exit 0 "${bench[@]}" --stack torch_eager,xla --repeats 1
for fault in dies:Killed "hangs:wrote nothing for 6 s"; do
  BENCH_FAULT=${fault%%:*} expect_exit 1 "${bench[@]}" --stack torch_eager,mine,xla,tvm --repeats 1
  status xla error "${fault#*:}"
  for stack in torch_eager mine tvm; do status $stack ok; done
done

rm log
BENCH_FAULT=endless "${bench[@]}" --stack torch_eager,xla --repeats 1 >cut.txt 2>&1 &
run=$!
until [ -e log ] && grep -q times log; do kill -0 "$run" || die "it ended: $(cat cut.txt)"; sleep 0.1; done
[ "$(grep -c ready log)" = 2 ] || die "not both wait: $(cat log)"
kill -INT "$run"
got=0
wait "$run" || got=$?
[ "$got" = 130 ] || die "exit $got instead of 130: $(cat cut.txt)"
for pid in $(awk '{print $4}' log); do
  ! kill -0 "$pid" 2>/dev/null || die "$pid still runs: $(cat log)"
done
