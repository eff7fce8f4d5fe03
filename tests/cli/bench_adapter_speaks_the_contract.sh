. "$LIB"
export BENCH_DEVICE=cpu BENCH_TASK=mlp BENCH_BATCH=4 BENCH_HIDDEN=64 BENCH_ITERS=4 BENCH_MAX_SECONDS=0.1
expect_exit 0 "$GPUREADY" bench adapter
python3 - "$out" <<'END' || die "no answer of the contract: $out"
import json, sys
answer = json.loads(sys.argv[1].splitlines()[-1])
assert answer["status"] == "ok" and answer["flops"] == 16 * 4 * 64 * 64 + 2 * 4 * 4 * 64, answer
assert {"mean", "p50", "p95", "min", "max"} <= set(answer["latency_ms"]) and answer["peak_memory_bytes"] > 0
assert answer["throughput_tokens_per_sec"] > 0 and len(answer["samples_ms"]) >= 4
END
BENCH_BATCH=none expect_exit 1 "$GPUREADY" bench adapter
expect_in '"status":"error"' "$out"
expect_in 'BENCH_BATCH=none' "$out"
expect_exit 0 "$GPUREADY" bench adapter --stack gpuready_cublaslt
expect_in '"status":"unavailable"' "$out"
# The exports are words that a shell reads back.
rm -rf bench-results  # of an earlier version of the scripts
expect_exit 0 "$GPUREADY" bench adapter --env
eval "$out"
[ -e "$PWD"/bench-results/adapters-*/torch_eager.py ] || die "the scripts were not placed"
expect_in "$(echo "$PWD"/bench-results/adapters-*/torch_eager.py)" "$TORCH_EAGER_BENCH_CMD"
expect_exit 2 "$GPUREADY" bench adapter --env --scripts /nowhere
$GPUREADY_BENCH_CMD | grep -q '"status":"ok"' || die "the exported command does not answer"
