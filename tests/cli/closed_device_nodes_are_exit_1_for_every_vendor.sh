. "$LIB"
# shellcheck shell=sh
expect_exit 1 "$GPUREADY" doctor --replay "$MACHINES/intel-permission/machine.json"
expect_in "/dev/dri/renderD128" "$out"
expect_in "usermod -aG" "$out"
for machine in amd-permission device-node-permission intel-container-without-nodes \
  intel-container-cgroup amd-container-without-rocm hyperv-partition-without-driver \
  uvm-node-stale-lxc; do
  expect_exit 1 "$GPUREADY" doctor --replay "$MACHINES/$machine/machine.json"
done
expect_exit 1 "$GPUREADY" check --replay "$MACHINES/hyperv-partition-without-driver/machine.json"
expect_exit 0 "$GPUREADY" detect --replay "$MACHINES/hyperv-partition-without-driver/machine.json"
expect_in "GPU partition" "$out"
expect_exit 0 "$GPUREADY" doctor --replay "$MACHINES/healthy-gaudi2x8/machine.json"
expect_in "Gaudi2" "$out"
