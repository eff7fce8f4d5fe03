. "$LIB"
cat >scontrol <<'END'
#!/bin/sh
[ "$1" = update ] && echo "$@" >>asked
echo "NodeName=n1 X=1"
echo "   State=MIXED Y=1"
END
chmod +x scontrol
hook() { # EXIT_CODE HOOK GPUS MACHINE [OPTION...]
  rm -rf kept asked
  mkdir kept
  SLURM_JOB_ID=7 SLURM_JOB_GPUS=$3 CUDA_VISIBLE_DEVICES=$3 SLURMD_NODENAME=n1 \
    expect_exit "$1" "$GPUREADY" slurm "$2" --folder kept --scontrol "$PWD/scontrol" \
    --replay "$MACHINES/$4/machine.json" --rehearse "${@:5}"
}
bad=$("$GPUREADY" doctor --replay "$MACHINES/one-of-eight-unbound/machine.json" --json - |
  jq '[.gpu_status[] | select(.status == "not_ready") | .index][0]')
others=$(seq -s, 0 7 | tr , '\n' | grep -vx "$bad" | paste -sd,)
hook 1 prolog 0-7 one-of-eight-unbound
expect_in "State=DRAIN Reason=gpuready: rehearsal: GPU $bad" "$(cat asked)"
hook 0 prolog "$others" one-of-eight-unbound
[ ! -e asked ] || die "$(cat asked)"
hook 0 epilog 0-7 one-of-eight-unbound # drained, so Slurm has nothing to add
expect_in "State=DRAIN" "$(cat asked)"
hook 1 epilog 0-7 one-of-eight-unbound --scontrol /bin/false
hook 0 prolog 0-7 base-hgx-h100x8
hook 0 prolog "" one-of-eight-unbound
expect_in "the job has no GPU here" "$out"
# Not known is no reason to stop a job, unless that is asked for.
hook 0 prolog 12 base-hgx-h100x8
expect_in "not known: no GPU here has the number 12" "$out"
hook 1 prolog 12 base-hgx-h100x8 --fail-unknown
