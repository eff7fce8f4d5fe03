. "$LIB"
# Stacks that lie about their times, cannot be started, answer with what is no JSON or leave processes.
rm -rf bench-results left.pid run.json
cat >liar.py <<'END'
import json, os, subprocess
answer = json.loads(subprocess.run([os.environ["GPUREADY"], "bench", "adapter"], capture_output=True).stdout)
for key in ("samples_ms", "samples_at_ms", "cold_ms"):
    answer.pop(key, None)
answer["latency_ms"] = {key: 1e-6 for key in ("mean", "p50", "p95", "min", "max")}
print(json.dumps(answer))
END
cat >leaves.sh <<'END'
setsid sh -c 'echo $$ >left.pid; exec sleep 300' >/dev/null 2>&1 &
until [ -s left.pid ]; do sleep 0.05; done
exec "$GPUREADY" bench adapter
END
echo "no program" >plain.txt
export GPUREADY LIAR_BENCH_CMD="python3 '$PWD/liar.py'" LEAVES_BENCH_CMD="sh leaves.sh"
export NOWHERE_BENCH_CMD="/nonexistent/bench --json" TVM_BENCH_CMD="./plain.txt"
export NAN_BENCH_CMD="printf '%s' '{\"status\": \"ok\", \"latency_ms\": {\"mean\": NaN}}'"
expect_exit 1 "$GPUREADY" bench run --device cpu --task gemm --m 8 --n 16 --k 32 --max-seconds 0.1 --iters 4 \
  --repeats 1 --stack gpuready,liar,nowhere,tvm,nan,leaves --json=run.json
python3 - <<'END'
import json
stacks = {s["id"]: s for s in json.load(open("run.json"))["run"]["stacks"]}
def check(name, status, *parts):
    stack = stacks[name]
    assert stack["status"] == status, stack
    for part in parts:
        assert part in stack.get("reason", ""), stack["reason"]
    assert not stack.get("cure"), stack["cure"]
check("gpuready", "ok")
check("liar", "not_believable", "it says 1 ns an iteration")
check("nowhere", "error", "NOWHERE_BENCH_CMD", "'/nonexistent/bench --json'", "No such file")
check("tvm", "error", "TVM_BENCH_CMD", "./plain.txt", "Permission denied")
check("nan", "error", "latency_ms.mean", "line 1")
assert "json.exception" not in stacks["nan"]["reason"], stacks["nan"]["reason"]
check("leaves", "ok")
END
expect_in "It is not ranked: it is made to be checked against" "$(tr -s " \n" " " <<<"$out")"
! kill -0 "$(cat left.pid)" 2>/dev/null || die "a process that a stack started lives"
