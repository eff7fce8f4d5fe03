# Writes the documents of `gpuready fleet slow` that validate.py reads: fleet_slow_documents.sh FOLDER.
set -euo pipefail
mkdir -p "$1/fleet_slow"
cd "$1/fleet_slow"
slow() { "$GPUREADY" fleet slow --nodes 'n[1-16]' "$@" >log; }
rm -f rates
slow --plan --json=../fleet-slow.plan.json
# n3 is slow, n5 is dead, and n7 dies after the first round.
slow --command 'case "{a} {b}" in *n5|n5\ *) echo gone >&2; exit 1;; *n3|n3\ *) echo 80;; *) echo 100;; esac' \
  --results rates --rounds 1 --json=../fleet-slow.first.json || [ $? -eq 4 ]
slow --command 'case "{a} {b}" in *n[57]|n[57]\ *) exit 1;; *n3|n3\ *) echo 80;; *) echo 100;; esac' \
  --results rates --json=../fleet-slow.slow.json || [ $? -eq 1 ]
slow --command 'echo {a} {b} 100' --json=../fleet-slow.fine.json
