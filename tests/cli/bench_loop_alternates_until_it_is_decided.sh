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
# What cannot be of use is told before the first run, or after the first two.
rm -f log
expect_exit 2 "$GPUREADY" bench loop same same --command ./one_run
expect_in "are both same" "$err"
expect_exit 2 "$GPUREADY" bench loop b4 c4 --command ./one_run --idea =x
expect_in "--idea names nothing" "$err"
expect_exit 2 "$GPUREADY" bench loop b4 c4 --command "gpuready bench run --tag mine"
expect_in "leave --tag out" "$err"
expect_exit 2 "$GPUREADY" bench loop b4 c4 --command "./one_run 'x"
expect_in "no closing '" "$err"
[ ! -e log ] || die "something was run: $(cat log)"
for wrong in "--stack nope:has no result of the stack nope" "--idea commit:does not change commit"; do
  n=$((${n:-4} + 1))
  rm -f log
  # shellcheck disable=SC2086
  expect_exit 2 "$GPUREADY" bench loop b$n c$n --command ./one_run ${wrong%%:*}
  expect_in "${wrong#*:}" "$err"
  [ "$(wc -l <log)" = 2 ] || die "$(wc -l <log) runs before it was refused"
done
# A folder that is called like a tag hides none of its runs.
mkdir -p b7 c7
expect_exit 0 "$GPUREADY" bench loop b7 c7 --command ./one_run --idea POOL=1
# The cause is told, and wrong usage of what makes a run is wrong usage.
expect_exit 2 "$GPUREADY" bench loop b8 c8 --command "gpuready bench run --no-such-option"
expect_in "no-such-option" "$err"
# A gate's time is of the budget, and what it has started ends with it, also when it is interrupted.
expect_exit 4 "$GPUREADY" bench loop b9 c9 --command ./one_run --gate "sleep 1.2" --budget 1
expect_in "the budget of time ended before the first run" "$err"
cat >gate.sh <<'END'
setsid sleep 44.25 &
echo $! >left.pid
wait
END
rm -f left.pid
"$GPUREADY" bench loop b9 c9 --command ./one_run --gate "bash gate.sh" >cut.txt 2>&1 &
loop=$!
until [ -s left.pid ]; do kill -0 "$loop" || die "it ended before: $(cat cut.txt)"; sleep 0.1; done
kill -INT "$loop"
got=0
wait "$loop" || got=$?
[ "$got" = 130 ] || die "exit $got instead of 130: $(cat cut.txt)"
for _ in $(seq 50); do kill -0 "$(cat left.pid)" 2>/dev/null || break; sleep 0.1; done
! kill -0 "$(cat left.pid)" 2>/dev/null || { kill "$(cat left.pid)"; die "a process of the gate lives on"; }
