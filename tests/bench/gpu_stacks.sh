#!/usr/bin/env bash
# All stacks of a GPU machine in a few interleaved runs, at most five minutes:
#   tests/bench/gpu_stacks.sh BINARY OUT
# BINARY is gpuready; OUT becomes the folder of results and logs. The last lines are a table: p50 of each
# stack, and that of gpuready's cuBLASLt stack against the best of PyTorch (eager, compiled) and JAX.
# LIMIT_S (285), REPEATS (3), DTYPE (bf16) and RUNS ("mlp:64 mlp:4096 gemm:64 gemm:4096") change it.
set -uo pipefail
binary=$(realpath "$1")
mkdir -p "$2"; out=$(realpath "$2")
cd "$out"
export GPUREADY_HELPER=$binary  # whatever the binary is called
export TORCHINDUCTOR_CACHE_DIR=$out/inductor TRITON_CACHE_DIR=$out/triton
limit=${LIMIT_S:-285} repeats=${REPEATS:-3} dtype=${DTYPE:-bf16}
stacks=${STACKS:-gpuready_cublaslt,torch_eager,torch_compile,torch_compile_graphs,xla}
check=

once() {  # once TASK ROWS TAG REPEATS STACKS
  local left=$((limit - SECONDS))
  [ "$left" -gt 20 ] || { echo "skipped for lack of time: $3" | tee -a skipped.txt; return; }
  local sizes="--batch $2 --hidden 2048"
  [ "$1" = gemm ] && sizes="--m $2 --n 2048 --k 2048"
  # shellcheck disable=SC2086
  timeout -k 15 "$left" "$binary" bench run --task "$1" $sizes --dtype "$dtype" --device cuda --stack "$5" \
    --repeats "$4" --max-seconds 1 --timeout 90s --silence 60s --tag "$3" --replace --seed 1 $check \
    --json="$3.json" --quiet >"$3.txt" 2>"$3.err"
  echo "$3: exit $? after $SECONDS s"
  check=--no-check  # once is enough
}

for run in ${RUNS:-mlp:64 mlp:4096 gemm:64 gemm:4096}; do
  once "${run%:*}" "${run#*:}" "${run%:*}_${run#*:}" "$repeats" "$stacks"
done
# Those without a target, once: our own kernels, Triton, and what is not here.
once mlp 64 others_mlp_64 1 gpuready,triton,onnxruntime,tvm,tensorrt,pyc,glow
once gemm 64 others_gemm_64 1 gpuready,triton
once copy 64 copy 1 gpuready,torch_eager,xla
rm -rf inductor triton
python3 - <<'END'
import glob, json, statistics
for path in sorted(glob.glob("*.json")):
    run = json.load(open(path))["run"]
    print(f"\n{run['tag']}: {run['workload']['name']} {run['workload']['shape']} {run['workload']['dtype']}")
    times = {}
    for stack in run["stacks"]:
        repeats = [r for r in stack["repeats"] if r.get("status", "ok") == "ok"] if stack.get("repeats") else []
        p50 = [r["latency"]["p50_ns"] / 1e6 for r in repeats if r.get("latency", {}).get("p50_ns")]
        if stack["status"] != "ok" or not p50:
            print(f"  {stack['id']:22} {stack['status']}: {stack.get('reason', '')[:150]}")
            continue
        times[stack["id"]] = statistics.median(p50)
        cold = [t for r in repeats for t in r.get("cold_samples_ns", [])]
        watts = [r["conditions"]["power_mw"] / 1e3 for r in repeats if r.get("conditions", {}).get("power_mw")]
        print(f"  {stack['id']:22} p50 {times[stack['id']]:.4f} ms  repeats "
              f"{' '.join(f'{p:.4f}' for p in p50)}  cold {statistics.median(cold) / 1e6 if cold else 0:.4f}  "
              f"{statistics.mean(watts) if watts else 0:.0f} W")
    rivals = {i: t for i, t in times.items() if i.startswith(("torch_", "xla"))}
    if rivals and "gpuready_cublaslt" in times:
        best = min(rivals, key=rivals.get)
        print(f"  gpuready_cublaslt / {best} = {times['gpuready_cublaslt'] / rivals[best]:.4f} (1.02 wanted)")
    for note in run.get("notes", []):
        print("  note:", note)
END
