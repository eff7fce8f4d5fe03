. "$LIB"
rm -rf bench-results others none
result() { # FILE TIME MICROSECONDS [PROGRAM]
  cat >"$1" <<J
{"context": {"date": "2024-05-01T$2+02:00", "executable": "${4:-bm}", "num_cpus": 4}, "benchmarks": [
 {"name": "A", "run_type": "iteration", "real_time": $3, "cpu_time": NaN, "time_unit": "us"}]}
J
}
for i in 0 1 2 3 4 5; do
  result "old$i.json" "14:0$i:00" "12.$i"
  expect_exit 0 "$GPUREADY" bench import "old$i.json" --tag old
  result "new$i.json" "15:0$i:00" "9.$i"
  expect_exit 0 "$GPUREADY" bench import "new$i.json" --tag new
done
expect_in "Imported a result of google-benchmark as a run with 1 stack." "$out"
expect_exit 0 "$GPUREADY" bench import "new0.json" --results others --json -
expect_in '"schema": "gpuready.bench-run"' "$out"
expect_in '"tag": "new0"' "$out"
# What the file does not say is left out of the heading.
expect_exit 0 "$GPUREADY" bench import "new1.json" --results others
expect_in "bm on cpu" "$out"
sed 's/, "executable": "bm"//' new2.json >nameless.json
expect_exit 0 "$GPUREADY" bench import nameless.json --results others
expect_in "a workload without a name on cpu" "$out"
# Nothing is kept of a file without a figure.
result empty.json 17:00:00 -1
expect_exit 2 "$GPUREADY" bench import empty.json --results none
expect_in "no result of empty.json has a measurement: A: its time is not a positive number" "$err"
[ ! -e none ] || die "a run without a figure was kept"
# Known to the history, and a side of a comparison, by tag and by id.
expect_exit 0 "$GPUREADY" bench history
expect_in "12 runs" "$out"
expect_in "throughput" "$out"
expect_exit 0 "$GPUREADY" bench compare old new
expect_in "new is faster than old: better in throughput" "$out"
id=$(ls bench-results | grep "__new.json" | head -1)
expect_exit 4 "$GPUREADY" bench compare old "${id%__new.json}"
expect_exit 0 "$GPUREADY" bench report new --md report.md
# Once, and under a tag of the same work alone.
expect_exit 2 "$GPUREADY" bench import old0.json --tag again
expect_in "was imported already: bench-results/google-benchmark-" "$err"
result other.json 16:00:00 7 elsewhere
expect_exit 2 "$GPUREADY" bench import other.json --tag old
expect_in "the tag old holds runs of bm, cpu (google-benchmark-" "$err"
expect_in "and this one is of elsewhere, cpu" "$err"
expect_exit 2 "$GPUREADY" bench import other.json --tag "a b"
echo '{}' >none.json
expect_exit 2 "$GPUREADY" bench import none.json
expect_in "none.json is not a document of" "$err"
