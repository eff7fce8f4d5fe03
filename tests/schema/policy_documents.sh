# Writes the documents of `gpuready policy` and `status` that validate.py reads: policy_documents.sh FOLDER.
set -euo pipefail
mkdir -p "$1"
work=$(mktemp -d "$1/policy.XXXXXX")
trap 'rm -rf "$work"' EXIT
machine=$SOURCE/tests/machines/base-hgx-h100x8/machine.json
"$GPUREADY" policy init --replay "$machine" "$work/policy.toml"
for day in 2020-01-01 2999-01-01; do
  printf '[[accept]]\nname = "clock"\nreason = "a power cap"\nuntil = "%s"\n' $day >>"$work/policy.toml"
done
"$GPUREADY" policy check "$work/policy.toml" --replay "$machine" --json="$1/policy-check.met.json" >/dev/null
sed -i 's/^count = 8/count = 9/' "$work/policy.toml"
"$GPUREADY" policy check "$work/policy.toml" --replay "$machine" --json="$1/policy-check.unmet.json" >/dev/null ||
  [ $? -eq 3 ]
rm -f "$1/results.kept.json"
"$GPUREADY" check --device cpu --state "$1/results.kept.json" >/dev/null || [ $? -eq 4 ]
"$GPUREADY" status --state "$1/results.kept.json" --json="$1/status.kept.json" >/dev/null || [ $? -eq 4 ]
