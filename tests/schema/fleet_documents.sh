# Writes the documents of `gpuready fleet` that validate.py reads: fleet_documents.sh FOLDER.
set -euo pipefail
work=$(mktemp -d "$1/fleet.XXXXXX")
trap 'rm -rf "$work"' EXIT
"$SOURCE/tests/fleet/nodes.py" "$GPUREADY" "$work/nodes" 8 n3:off-the-bus n4:driver n5:slow n6:stale
"$GPUREADY" fleet merge "$work/nodes" --nodes n[1-9] --history "$work/history" --json="$1/fleet.some.json" \
  >/dev/null || [ $? -eq 1 ]
"$SOURCE/tests/fleet/nodes.py" "$GPUREADY" "$work/nodes" 8 n4:vbios
"$GPUREADY" fleet merge "$work/nodes" --history "$work/history" --json="$1/fleet.again.json" >/dev/null ||
  [ $? -eq 4 ]
"$GPUREADY" fleet merge /dev/null --json="$1/fleet.none.json" >/dev/null || [ $? -eq 4 ]
