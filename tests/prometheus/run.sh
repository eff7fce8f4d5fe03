#!/usr/bin/env bash
# Real Prometheus, Alertmanager and node exporter on localhost: alerts fire on a planted fault and clear, and the page is
# answered at once, also while the driver hangs. Debian's packages are unpacked into the build folder, not installed.
# Usage: tests/prometheus/run.sh [BUILD_FOLDER]   Exit 77: the packages are not to be had here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source=$PWD build=$(realpath "${1:-build/release}")
gpuready=$build/src/gpuready tools=$build/prometheus/usr/bin
scripts/debian_packages.sh "$build/prometheus" bookworm "$(dpkg --print-architecture)" \
  prometheus prometheus-alertmanager prometheus-node-exporter
work=$(mktemp -d)
children=()
trap 'kill "${children[@]}" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$work"' EXIT
die() { echo "FAILED: $*" >&2; tail -n 5 "$work"/*.log >&2; exit 1; }
cd "$work"
export GPUREADY_TRUST_NAMED_LIBRARIES=1

echo "== the rules, by promtool"
cp "$source/packaging/prometheus/gpuready.rules.yml" "$source/tests/prometheus/rules_test.yml" .
"$tools/promtool" check rules gpuready.rules.yml
"$tools/promtool" test rules rules_test.yml
"$gpuready" exporter --once --state none --replay "$source/tests/machines/off-the-bus/machine.json" | "$tools/promtool" check metrics

echo "== Prometheus, Alertmanager, node exporter, and an exporter for each of two machines"
cp -r "$source"/tests/machines/{base-hgx-h100x8,off-the-bus} .
machine() {
  jq -n --arg extends "$1/machine.json" '{schema: "gpuready.machine-script", schema_version: 1, $extends}' >new.json
  mv new.json machine.json
}
machine base-hgx-h100x8
mkdir textfile
"$gpuready" doctor -q --replay base-hgx-h100x8/machine.json --prom textfile/gpuready.prom >/dev/null
run() { local log=$1; shift; "$@" >"$log.log" 2>&1 & children+=($!); }
free_ports() { python3 -c 'import socket
taken = [socket.socket() for _ in range(5)]
for each in taken: each.bind(("127.0.0.1", 0))
ports = [each.getsockname()[1] for each in taken]
for each in taken: each.close()
print(*ports)'; }
read -r replayed hanging prometheus alertmanager node < <(free_ports)
run replayed "$gpuready" exporter --listen "127.0.0.1:$replayed" --interval 1 --state none --replay machine.json
GPUREADY_LIBNVML=$build/fake_drivers/fake_nvml.so FAKE_NVML="devices=8;hang=nvmlInit_v2;while=$work/hangs" \
  run hanging "$gpuready" exporter --listen "127.0.0.1:$hanging" --interval 5 --state none
run node "$tools/prometheus-node-exporter" --web.listen-address="127.0.0.1:$node" --collector.disable-defaults \
  --collector.textfile --collector.textfile.directory="$work/textfile"
cat >alertmanager.yml <<<'{route: {receiver: none}, receivers: [{name: none}]}'
# Debian's Alertmanager reads its templates below /usr/share.
run alertmanager unshare --user --map-root-user --mount bash -c 'mount --bind "$0" /usr/share && exec "$@"' \
  "$build/prometheus/usr/share" "$tools/prometheus-alertmanager" --config.file=alertmanager.yml --storage.path="$work/alerts" \
  --web.listen-address="127.0.0.1:$alertmanager" --cluster.listen-address=
# Of the shipped rules, with the times shortened.
sed 's/for: .*/for: 1s/; s/unanswered_seconds > 60/unanswered_seconds > 6/' gpuready.rules.yml >quick.rules.yml
cat >prometheus.yml <<END
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [quick.rules.yml]
alerting: {alertmanagers: [{static_configs: [{targets: ["127.0.0.1:$alertmanager"]}]}]}
scrape_configs:
  - {job_name: gpuready, static_configs: [{targets: ["127.0.0.1:$replayed", "127.0.0.1:$hanging"]}]}
  - {job_name: node, static_configs: [{targets: ["127.0.0.1:$node"]}]}
END
run prometheus "$tools/prometheus" --config.file=prometheus.yml --storage.tsdb.path="$work/data" \
  --web.listen-address="127.0.0.1:$prometheus"

query() { curl -sf "http://127.0.0.1:$prometheus/api/v1/query" --data-urlencode "query=$1" | jq -r '.data.result | map(.value[1]) | join(" ")'; }
firing() {  # of a target, as Alertmanager knows them
  curl -sf "http://127.0.0.1:$alertmanager/api/v2/alerts?active=true" |
    jq -r --arg at "127.0.0.1:$1" '[.[] | select(.labels.instance == $at) | .labels.alertname] | unique | join(" ")'
}
# within SECONDS WHAT COMMAND...: waits until the output is WHAT.
within() {
  local limit=$1 want=$2 start=$SECONDS got=
  shift 2
  while got=$("$@" 2>/dev/null) || true; [ "$got" != "$want" ]; do
    [ $((SECONDS - start)) -lt "$limit" ] || die "after $limit s '$got' instead of '$want': $*"
    sleep 0.3
  done
  echo "   $((SECONDS - start)) s: $*: '$want'"
}
has_alert() { firing "$1" | grep -ow "$2" || true; }
within 30 "1 1 1" query 'up'
within 30 "8 8" query 'gpuready_gpus{job="gpuready"}'
within 30 "8" query 'gpuready_gpus{job="node"}'
[ "$(query 'node_textfile_scrape_error')" = 0 ] || die "the textfile was refused"
within 20 GpuUntested has_alert "$replayed" GpuUntested

echo "== a GPU falls off the bus, and comes back"
machine off-the-bus
within 30 GpuNotReady has_alert "$replayed" GpuNotReady
within 30 GpuFinding has_alert "$replayed" GpuFinding
within 30 GpuXid has_alert "$replayed" GpuXid
machine base-hgx-h100x8
within 60 "GpuUntested" firing "$replayed"

echo "== a driver hangs"
touch hangs
within 15 GpuDriverSilent has_alert "$hanging" GpuDriverSilent
for _ in $(seq 50); do
  curl -sf -o /dev/null -w '%{time_total}\n' "http://127.0.0.1:$hanging/metrics" || die "no answer"
done | sort -g >scrapes.txt
median=$(sed -n 25p scrapes.txt) slowest=$(tail -n 1 scrapes.txt)
echo "   50 scrapes of 8 GPUs while it hangs: median $median s, slowest $slowest s"
# Other tests load this machine, so only the median is held to what is promised.
awk -v m="$median" -v s="$slowest" 'BEGIN { exit !(m < 0.02 && s < 1) }' ||
  die "scrapes took $median s, the slowest $slowest s: 0.02 s are promised"
echo "   as Prometheus saw it: $(query 'max_over_time(scrape_duration_seconds{job="gpuready"}[1m])') s"
# The exporter's own processes: no library of a driver is in them.
! grep -l 'nvml\|libcuda' $(printf '/proc/%s/maps ' "${children[@]}") || die "a driver's library is loaded"
echo "PASSED"
