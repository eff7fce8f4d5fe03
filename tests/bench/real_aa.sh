#!/usr/bin/env bash
# Comparisons of a stack with itself on this machine: how often does `bench compare` see a difference that is
# none? At most 1% of its verdicts may be "faster" or "slower".
#   tests/bench/real_aa.sh GPUREADY FOLDER [COMPARISONS] [OPTION OF bench run...]
# Runs of both sides alternate, RUNS (3) a side. Without options: the product of 64x2048x2048 by gpuready on
# cuda. Prints each "faster" and "slower", and a line of totals last.
set -euo pipefail
binary=$(realpath "$1") comparisons=${3:-30} runs=${RUNS:-3}
mkdir -p "$2" && cd "$2"
shift $(($# < 3 ? $# : 3))
[ $# -gt 0 ] || set -- --task gemm --m 64 --n 2048 --k 2048 --device cuda --stack gpuready --max-seconds 0.2
for comparison in $(seq "$comparisons"); do
  for turn in $(seq "$runs"); do
    # ABBA, so that a drift hits both alike.
    sides="a b"; [ $((turn % 2)) -eq 1 ] || sides="b a"
    for side in $sides; do
      "$binary" bench run "$@" --repeats 1 --no-check --tag "aa_${comparison}_$side" --add --quiet >/dev/null
    done
  done
  "$binary" bench compare "aa_${comparison}_a" "aa_${comparison}_b" --json="compare_$comparison.json" >/dev/null || [ $? = 4 ]
done
python3 - <<'END'
import collections, glob, json
seen, runs = collections.Counter(), 0
for path in sorted(glob.glob("compare_*.json")):
    for stack in json.load(open(path))["comparison"]["stacks"]:
        for kpi in stack["kpis"]:
            seen[kpi["outcome"]] += 1
            if kpi["outcome"] in ("faster", "slower"):
                print(path, kpi)
    runs += 1
print(f"{runs} comparisons: " + ", ".join(f"{count} {outcome}" for outcome, count in sorted(seen.items())))
END
