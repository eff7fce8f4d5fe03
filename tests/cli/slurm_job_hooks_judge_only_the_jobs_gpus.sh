. "$LIB"
cat >scontrol <<'END'
#!/bin/sh
[ "$1" = update ] && echo "$@" >>asked
echo "NodeName=n1 X=1"
echo "   State=MIXED Y=1"
END
chmod +x scontrol
scontrol=$PWD/scontrol
hook() { # EXIT_CODE HOOK GPUS MACHINE [OPTION...]
  rm -rf kept asked
  mkdir kept
  SLURM_JOB_ID=7 SLURM_JOB_GPUS=$3 CUDA_VISIBLE_DEVICES=$3 SLURMD_NODENAME=n1 \
    expect_exit "$1" "$GPUREADY" slurm "$2" --folder kept --scontrol "$scontrol" \
    --replay "$MACHINES/$4/machine.json" --rehearse "${@:5}"
}
bad=$("$GPUREADY" doctor --replay "$MACHINES/one-of-eight-unbound/machine.json" --json - |
  jq '[.gpu_status[] | select(.status == "not_ready") | .index][0]') || true
others=$(seq -s, 0 7 | tr , '\n' | grep -vx "$bad" | paste -sd,)
hook 1 prolog 0-7 one-of-eight-unbound
expect_in "State=DRAIN Reason=gpuready: rehearsal: GPU $bad" "$(cat asked)"
hook 0 prolog "$others" one-of-eight-unbound
[ ! -e asked ] || die "$(cat asked)"
hook 0 epilog 0-7 one-of-eight-unbound # drained, so Slurm has nothing to add
expect_in "State=DRAIN" "$(cat asked)"
scontrol=/bin/false hook 1 epilog 0-7 one-of-eight-unbound
hook 0 prolog 0-7 base-hgx-h100x8
hook 0 prolog "" one-of-eight-unbound
expect_in "the job has no GPU here" "$out"
# What is not known stops a job only if that is asked for.
hook 0 prolog 12 base-hgx-h100x8
expect_in "not known: no GPU here has the number 12" "$out"
hook 1 prolog 12 base-hgx-h100x8 --fail-unknown
# A test of its own: only if asked for, and only of a GPU that has passed one.
ready_gpu
rm -rf kept && mkdir kept
prolog() { # EXIT_CODE [OPTION...]
  local want=$1 code
  shift
  for _ in {1..6}; do # on a busy machine a test may take longer than it is given
    rm -f asked
    code=0
    SLURM_JOB_ID=7 SLURM_JOB_GPUS=0 CUDA_VISIBLE_DEVICES=5 SLURMD_NODENAME=n1 \
      "$GPUREADY" slurm prolog --folder kept --scontrol "$scontrol" "$@" >stdout.txt 2>stderr.txt </dev/null || code=$?
    grep -q "the test timed_out" stdout.txt stderr.txt || break
  done
  out=$(cat stdout.txt)
  [ "$code" = "$want" ] || die "exit $code instead of $want: slurm prolog $*"$'\n'"$out$(cat stderr.txt)"
}
slow=${FAKE_CUDA/mhz=1/mhz=1980}
FAKE_CUDA=$slow prolog 0 --test
[ ! -e kept/results.json ] || die "it tested a GPU that was never tested"
expect_exit 0 "$GPUREADY" check --state kept/results.json
FAKE_CUDA=$slow prolog 0
before=$(cat kept/results.json)
prolog 0 --test
[ "$before" != "$(cat kept/results.json)" ] || die "it did not test"
FAKE_CUDA=$slow prolog 1 --test
expect_in "State=DRAIN Reason=gpuready: GPU 0" "$(cat asked)"
