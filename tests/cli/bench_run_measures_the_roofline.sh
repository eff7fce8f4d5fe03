. "$LIB"
# Two runs with the machine's own roofline can be compared by their shares of it.
rm -rf bench-results
for tag in base candidate; do
  expect_exit 0 "$GPUREADY" bench run --device cpu --task gemm --m 8 --n 16 --k 32 --max-seconds 0.1 --iters 4 \
    --stack gpuready --repeats 2 --roofline --tag $tag --json=run.json
done
python3 - <<'END'
import json
roofline = json.load(open("run.json"))["run"]["roofline"]
# From a slow core under a sanitizer to the largest servers.
assert 1e6 < roofline["flops_per_s"] < 1e15 and 1e6 < roofline["bytes_per_s"] < 1e14, roofline
END
got=0
"$GPUREADY" bench compare base candidate --normalise --json=compare.json >out.txt 2>&1 || got=$?
[ "$got" -le 1 ] || [ "$got" = 4 ] || die "exit $got: $(cat out.txt)"
expect_in '"normalised": true' "$(cat compare.json)"
# Without it there is nothing to compare by.
expect_exit 0 "$GPUREADY" bench run --device cpu --task gemm --m 8 --n 16 --k 32 --max-seconds 0.1 --iters 4 \
  --stack gpuready --repeats 2 --tag without
expect_exit 2 "$GPUREADY" bench compare base without --normalise
expect_in "roofline" "$err"
