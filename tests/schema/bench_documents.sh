# Writes the documents of `gpuready bench` that validate.py reads: bench_documents.sh FOLDER.
set -euo pipefail
mkdir -p "$1/bench"
cd "$1/bench"
rm -rf runs
write() { "$SOURCE/tests/cli/bench_runs.py" runs "$@"; }
write base 0 2 1000 1003 998 1001 999 1002
write fast 1 2 952 951 954 950 953 952
write noisy 1 2 900 1100 950 1020 990 1060
DRIVER=590.10 write other 1 2 900 1100
"$GPUREADY" bench compare --results runs base fast --json=../bench-compare.fast.json >log
"$GPUREADY" bench compare --results runs base noisy --json=../bench-compare.noisy.json >log || [ $? -eq 4 ]
"$GPUREADY" bench compare --results runs base other --json=../bench-compare.other.json >log || [ $? -eq 2 ]
"$GPUREADY" bench promote --results runs base fast --json=../bench-promote.fast.json >log
write unsure 1 2 1000 950 1050
"$GPUREADY" bench promote --results runs base unsure --json=../bench-promote.unsure.json >log ||
  [ $? -ne 2 ]
"$GPUREADY" bench history --results runs --json=../bench-history.some.json >log
