. "$LIB"
[ ! -e /proc/driver/nvidia ] || skip "this machine has a GPU"
ready_gpu
clocks() {  # sets $seen, of a GPU with this greatest clock in MHz that is to end with this code
  FAKE_CUDA="cc=7.0,memory=4MiB,sms=1,mhz=$1" expect_exit "$2" "$GPUREADY" test --level quick --only compute \
    --duration 0.001 --seed 5 --json=report.json
  seen=$(jq -r '.verdicts[] | "\(.test) \(.status) \([.metrics[] | select(.name | endswith("slow_share")).value]) \(.duration_ms > 1000)"' report.json)
}
# The SMs of this machine in software count some ten million cycles a second.
clocks 1 0
expect_in "compute passed [0]" "$seen"
expect_in "clocks passed [0]" "$seen"
# They have a second in which to become faster.
clocks 1000 1
expect_in "compute passed [1] true" "$seen"
expect_in "clocks failed [1]" "$seen"
