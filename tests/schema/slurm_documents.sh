# Writes the documents of `gpuready slurm` that validate.py reads: slurm_documents.sh FOLDER.
set -euo pipefail
mkdir -p "$1"
work=$(mktemp -d "$1/slurm.XXXXXX")
trap 'rm -rf "$work"' EXIT
cat >"$work/scontrol" <<'END'
#!/bin/sh
echo "NodeName=n1 Arch=x86_64"
echo "   State=IDLE+DRAIN ThreadsPerCore=1"
echo "   Reason=ticket 12 [root@2026-11-26T04:01:02]"
END
chmod +x "$work/scontrol"
"$GPUREADY" slurm health --node n1 --replay "$SOURCE/tests/machines/off-the-bus/machine.json" --folder "$work" \
  --scontrol "$work/scontrol" --json="$1/slurm-hook.health.json" >/dev/null || [ $? -eq 1 ]
SLURM_JOB_ID=7 SLURM_JOB_GPUS=0 "$GPUREADY" slurm prolog --node n1 --folder "$work" \
  --replay "$SOURCE/tests/machines/base-h100x1/machine.json" --json="$1/slurm-hook.prolog.json" >/dev/null
printf 'GresTypes=gpu\nProlog=/site/prolog\nPrologFlags=X\nNodeName=n1 Gres=gpu:2\n' >"$work/slurm.conf"
"$GPUREADY" slurm install --conf "$work/slurm.conf" --json="$1/slurm-install.shown.json" >/dev/null || [ $? -eq 1 ]
"$GPUREADY" slurm doctor --node n1 --conf "$work/slurm.conf" \
  --replay "$SOURCE/tests/machines/base-h100x1/machine.json" --json="$1/slurm-doctor.some.json" >/dev/null || [ $? -eq 1 ]
