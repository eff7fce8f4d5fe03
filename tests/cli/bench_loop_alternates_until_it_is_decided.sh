. "$LIB"
rm -rf bench-results log one
# Stands for `bench run`: a run with POOL set is 10% faster, and runs are a second apart.
cat >one_run <<END
#!/usr/bin/env bash
while [ \$# -gt 0 ]; do case \$1 in --tag) tag=\$2; shift;; esac; shift; done
echo "\$tag \${POOL:-}" >>log
n=\$(wc -l <log)
[ "\$tag" != broken ] || { echo "no GPU" >&2; exit 3; }
ns=\$((10000 + n % 3))
[ -z "\${POOL:-}" ] || { ns=\$((ns * 9 / 10)); export VARIABLE=POOL=\$POOL; }
"$(dirname "$LIB")/bench_runs.py" one "\$tag" \$n 1 \$ns
mkdir -p bench-results
sed "s/\$tag-0/\$tag-\$n/" "one/\$tag-0__\$tag.json" >"bench-results/\$tag-\${n}__\$tag.json"
END
chmod +x one_run
expect_exit 0 "$GPUREADY" bench loop base fast --command ./one_run --idea POOL=1 --md evidence.md
expect_in "Promote fast: gain in p50 by 11." "$out"
[ "$(grep -c '^base $' log)" -eq "$(grep -c '^fast 1$' log)" ] || die "not alternating: $(cat log)"
expect_in "# Promotion of POOL" "$(cat evidence.md)"
expect_exit 1 "$GPUREADY" bench loop b2 same --command ./one_run
expect_in "Reject same" "$out"
expect_exit 2 "$GPUREADY" bench loop base fast --command ./one_run
expect_in "has runs already" "$err"
expect_exit 1 "$GPUREADY" bench loop b3 c3 --command ./one_run --gate "false"
expect_in "the gate did not pass" "$err"
expect_exit 4 "$GPUREADY" bench loop broken broken2 --command ./one_run
expect_in "no GPU" "$err"
