#!/usr/bin/env bash
# `gpuready kubernetes event` against a real gRPC server, that of grpcio from the Python registry.
# Usage: tests/kubernetes/health_event.sh GPUREADY [FOLDER for its virtual environment]   Exit 77: it cannot be had here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
gpuready=$(realpath "$1") venv=${2:-build/kubernetes-grpc}
[ -x "$venv/bin/python" ] && "$venv/bin/python" -c 'import grpc, google.protobuf' 2>/dev/null || {
  python3 -m venv "$venv" && "$venv/bin/pip" install -q grpcio protobuf
} || { echo "SKIPPED: grpcio cannot be installed here"; exit 77; }
folder=$(mktemp -d) server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$folder"' EXIT
die() { echo "FAILED: $*"; exit 1; }
# CODE TEXT ANSWER MACHINE: the program's exit code, and what it or the server says.
event() {
  rm -f "$folder/s"
  "$venv/bin/python" tests/kubernetes/health_event_server.py "$folder/s" "$3" >"$folder/taken" 2>&1 &
  server=$!
  for _ in $(seq 100); do [ -S "$folder/s" ] && break; sleep 0.1; done
  local code=0
  "$gpuready" kubernetes event --node n1 --socket "unix://$folder/s" --state none \
    --replay "tests/machines/$4/machine.json" >"$folder/said" 2>&1 || code=$?
  kill "$server"; wait "$server" 2>/dev/null || true; server=
  [ "$code" = "$1" ] || die "$3, $4: exit $code: $(cat "$folder/said" "$folder/taken")"
  cat "$folder/said" "$folder/taken" | grep -qE "$2" || die "$3, $4: no '$2' in: $(cat "$folder/said" "$folder/taken")"
}
event 0 'checkName: "GpureadyGpuFault" isFatal: true .*recommendedAction: 24 errorCode: "off-the-bus" .*entityType: "PCI".* nodeName: "n1"' ok off-the-bus
event 0 'checkName: "GpureadyNodeFault" isHealthy: true' ok base-hgx-h100x8
[ "$(grep -c isHealthy "$folder/taken")" = 2 ] || die "a node without a fault sends one event of each check"
event 4 'refuses: PERMISSION_DENIED \(7\): not this node' PERMISSION_DENIED base-hgx-h100x8
# Again and again, through a server that goes and comes, until SIGTERM.
rm -f "$folder/s"
NODE_NAME=n1 "$gpuready" kubernetes event --interval 1s --socket "$folder/s" --state none \
  --replay tests/machines/base-hgx-h100x8/machine.json >"$folder/loop" 2>&1 &
loop=$!
sleep 1.5
"$venv/bin/python" tests/kubernetes/health_event_server.py "$folder/s" ok >"$folder/taken" 2>&1 &
server=$!
sleep 6
kill "$server"; wait "$server" 2>/dev/null || true; server=
kill "$loop"
code=0; wait "$loop" || code=$?
[ $code = 0 ] || die "SIGTERM: exit $code: $(cat "$folder/loop")"
grep -q "NVSentinel was not told" "$folder/loop" || die "the missing server is not reported: $(cat "$folder/loop")"
[ "$(grep -c 'GpureadyNodeFault.*isHealthy: true' "$folder/taken")" -ge 2 ] || die "not repeated: $(cat "$folder/taken")"
start=$SECONDS
event 4 'it does not answer|DEADLINE_EXCEEDED|CANCELLED' hang base-hgx-h100x8
[ $((SECONDS - start)) -le 9 ] || die "a server that hangs took $((SECONDS - start)) s"
echo "PASSED"
