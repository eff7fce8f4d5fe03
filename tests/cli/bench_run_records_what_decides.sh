. "$LIB"
# Versions, settings and variables of the stacks stand in the run's document, and secrets do not.
rm -rf bench-results run.json
cat >mine.py <<'END'
import json, os, subprocess
answer = json.loads(subprocess.run([os.environ["GPUREADY"], "bench", "adapter"], capture_output=True).stdout)
answer["versions"] = {"mine": "1.2", "libmine": 3}
answer["settings"] = {"mode": "fast", "threads": 4, "graphs": True, "list": [1]}
print(json.dumps(answer))
END
export MINE_BENCH_CMD="python3 '$PWD/mine.py'" XLA_FLAGS="--a --b" OMP_NUM_THREADS=2 NVIDIA_API_KEY=hidden-value
unset LD_LIBRARY_PATH
expect_exit 0 "$GPUREADY" bench run --device cpu --task gemm --m 8 --n 16 --k 32 --max-seconds 0.25 --iters 4 \
  --stack mine --repeats 1 --json=run.json
python3 - <<'END'
import json, re
text = open("run.json").read()
run = json.loads(text)["run"]
assert re.fullmatch("[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}", run["id"]), run["id"]
assert run["id"][:15] == re.sub("[-:]", "", run["started_utc"])[:15], run
variables = run["environment"]["variables"]
assert variables["XLA_FLAGS"] == "--a --b" and variables["OMP_NUM_THREADS"] == "2", variables
assert "LD_LIBRARY_PATH" not in variables and "HOME" not in variables, variables
assert "hidden-value" not in text
stack = run["stacks"][0]
assert stack["versions"] == {"libmine": "3", "mine": "1.2"}, stack["versions"]
assert stack["settings"] == {"graphs": "true", "mode": "fast", "threads": "4"}, stack["settings"]
repeat = stack["repeats"][0]
assert repeat["memory_seen"] == "resident" and repeat["memory_peak_bytes"] > 1e6, repeat
protocol = run["protocol"]
assert protocol["max_seconds"] == 0.25 and protocol["repeats"] == 1, protocol
assert 0 <= run["load"]["others_cpu_percent"] <= 100, run["load"]
END
# The CPUs that it may use, as taskset leaves them.
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
taskset -c "$cpu" "$GPUREADY" bench run --device cpu --task gemm --m 8 --n 16 --k 32 --max-seconds 0.1 --iters 4 \
  --stack gpuready --json=one.json >log || die "$(cat log)"
python3 - "$cpu" <<'END'
import json, sys
run = json.load(open("one.json"))["run"]
environment = run["environment"]
assert environment["cpu_cores"] == 1 and environment["cpu_affinity"] == sys.argv[1], environment
# docs/bench-run.md, the defaults.
assert run["protocol"]["repeats"] == 6 and len(run["stacks"][0]["repeats"]) == 6, run["protocol"]
END
# Of an idea that may be a secret its hash is recorded, and Terraform's variables are not.
TF_VAR_admin_pwd=hunter2 MY_TOKEN=s3cret expect_exit 0 "$GPUREADY" bench run --device cpu --task gemm --m 8 --n 16 \
  --k 32 --max-seconds 0.1 --iters 4 --stack mine --repeats 1 --idea MY_TOKEN --json=run.json
expect_in '"MY_TOKEN": "sha256:' "$(cat run.json)"
for secret in hunter2 s3cret; do
  expect_not_in "$secret" "$(cat run.json bench-results/*.json)"
done
