#!/usr/bin/env bash
# The manifests against Kubernetes' published schemas, offline, by kubernetes-validate of the Python registry.
# Usage: tests/kubernetes/validate.sh [FOLDER for its virtual environment]   Exit 77: it cannot be had here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
venv=${1:-build/kubernetes-validate}
[ -x "$venv/bin/kubernetes-validate" ] || {
  python3 -m venv "$venv" && "$venv/bin/pip" install -q kubernetes-validate==1.32.0
} || { echo "SKIPPED: kubernetes-validate cannot be installed here"; exit 77; }
manifests=(packaging/kubernetes/{namespace,exporter-daemonset,nvsentinel-daemonset,npd-patch,test-job,test-cronjob,pod-with-init}.yaml)
"$venv/bin/kubernetes-validate" --strict -k 1.32 "${manifests[@]}"
# It finds mistakes: an unknown field, and a number in place of a text.
broken=$(mktemp --suffix=.yaml)
trap 'rm -f "$broken"' EXIT
for change in 's/restartPolicy/restartPolcy/' 's/name: results, mountPath: .*}/name: 5, mountPath: 7}/'; do
  sed "$change" packaging/kubernetes/test-job.yaml >"$broken"
  ! "$venv/bin/kubernetes-validate" --strict -k 1.32 "$broken" >/dev/null 2>&1 || { echo "FAILED: '$change' passed"; exit 1; }
done
python3 -m json.tool packaging/kubernetes/npd-gpuready.json >/dev/null
echo "PASSED: ${#manifests[@]} manifests"
