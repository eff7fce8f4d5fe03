. "$LIB"
# As node-problem-detector calls it: 0 False, 1 True, others Unknown; one line of at most 80 bytes.
condition() {  # CODE TEXT ARGUMENTS...
  expect_exit "$1" "$GPUREADY" kubernetes condition "${@:3}"
  expect_in "$2" "$out"
  [ "$(printf '%s\n' "$out" | wc -l)" = 1 ] && [ "$(printf %s "$out" | wc -c)" -le 80 ] || die "not one short line: $out"
}
replay() { echo --replay "$MACHINES/$1/machine.json"; }
# shellcheck disable=SC2046
condition 0 "8 GPUs without a problem" not-ready --state none $(replay base-hgx-h100x8)
# shellcheck disable=SC2046
condition 1 "off-the-bus: GPU 3; power_cycle" not-ready --state none $(replay off-the-bus)
condition 1 "never tested" untested --state none
# What this machine keeps says nothing about a recorded one.
if [ -n "${OWN_FOLDER:-}" ]; then
  echo '{"schema": "gpuready.results", "schema_version": 1, "results": [{"subject": "GPU 0", "standing": "bad",
    "level": "quick", "failed": ["memory"], "hammer": false, "endurance_seconds": 0,
    "tested_unix_seconds": 1796013443, "reason": "wrong words"}]}' >/var/lib/gpuready/results.json
  condition 0 "tested: bad" untested
  # shellcheck disable=SC2046
  condition 1 "never tested" untested $(replay base-hgx-h100x8)
  # shellcheck disable=SC2046
  condition 0 "8 GPUs without a problem" not-ready $(replay base-hgx-h100x8)
  rm /var/lib/gpuready/results.json
fi
# Machines of all kinds have a line, within the limit.
machines=("$MACHINES"/*/machine.json)
for ((i = 0; i < ${#machines[@]}; i += 10)); do
  machine=${machines[i]}
  line=$("$GPUREADY" kubernetes condition not-ready --state none --replay "$machine" 2>err.txt) || true
  [ -n "$line" ] && [ "$(printf %s "$line" | wc -c)" -le 80 ] || die "$machine: '$line' $(cat err.txt)"
done
# A driver that hangs is a problem, within the time.
export GPUREADY_LIBNVML=$FAKES/fake_nvml.so FAKE_NVML="hang=nvmlInit_v2"
start=$SECONDS
condition 1 "probe-timed-out" not-ready --state none --timeout 2
[ $((SECONDS - start)) -le 6 ] || die "it took $((SECONDS - start)) s"
unset GPUREADY_LIBNVML FAKE_NVML
# A driver below a root of its own, as the GPU Operator's.
rm -rf root && mkdir -p root/usr/lib64 && cp "$FAKES/fake_nvml.so" root/usr/lib64/libnvidia-ml.so.1
expect_exit 0 "$GPUREADY" kubernetes features --state none --driver-root "$PWD/root/"
expect_in "feature.node.kubernetes.io/gpuready-gpus=1" "$out"
condition 1 "no driver below none" not-ready --state none --driver-root none
expect_exit 2 "$GPUREADY" kubernetes features --state none --driver-root none
expect_in "no libnvidia-ml.so.1 is below it" "$err"
# The program copies itself, whole and runnable.
rm -f copied && "$GPUREADY" kubernetes copy copied
cmp copied "$GPUREADY" && ./copied --version >/dev/null || die "the copy does not run"
