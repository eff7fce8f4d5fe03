. "$LIB"
mkdir -p kept
# What doctor calls unhealthy drains, with a reason that Slurm can keep; what it does not, does not.
for machine in $(walked_machines); do
  code=0
  "$GPUREADY" doctor --replay "$machine" -q >/dev/null 2>&1 || code=$?
  expect_exit $code "$GPUREADY" slurm health --node n1 --folder kept --replay "$machine" --scontrol /bin/true --json
  reason=$(jq -r '[.causes[] | .text][0] // ""' <<<"$out")
  [ $code -ne 1 ] || [ -n "$reason" ] || die "$machine: no cause"
  [ $code -eq 1 ] || [ -z "$reason" ] || die "$machine: $reason"
done
