. "$LIB"
unset GPUREADY_TRUST_NAMED_LIBRARIES
[ ! -e /proc/driver/nvidia ] || skip "this machine has a GPU"
# A healthy machine whose NVML a variable named: the answer is not the driver's.
healthy=$MACHINES/base-hgx-h100x8/machine.json
named=GPUREADY_LIBNVML=/opt/other/libnvidia-ml.so
jq '.environment.GPUREADY_LIBNVML = "/opt/other/libnvidia-ml.so"' "$healthy" >named.json
expect_exit 0 "$GPUREADY" doctor --replay "$healthy"
expect_exit 4 "$GPUREADY" doctor --replay named.json --html=named.html --md=named.md --prom=named.prom
expect_in "Through $named, not the system's driver." "$(tr -s '\n ' ' ' <<<"$out")"
for form in html md prom; do expect_in "/opt/other/libnvidia-ml.so" "$(cat named.$form)"; done
expect_exit 4 "$GPUREADY" doctor --replay named.json --json=-
[ "$(jq -r .machine.named_libraries.GPUREADY_LIBNVML <<<"$out")" = /opt/other/libnvidia-ml.so ] || die "$out"
# Drivers that play a GPU here.
export GPUREADY_LIBNVML=$FAKES/fake_nvml.so GPUREADY_LIBCUDA=$FAKES/fake_cuda.so
expect_exit 1 "$GPUREADY" gpu-test
expect_in "Not the system's driver: GPUREADY_LIBCUDA=$GPUREADY_LIBCUDA, GPUREADY_LIBNVML=$GPUREADY_LIBNVML" "$out"
"$GPUREADY" check --json=- >check.json 2>/dev/null </dev/null || true
expect_in "GPUREADY_LIBCUDA=$GPUREADY_LIBCUDA" "$(jq -r .conclusion check.json)"
expect_not_in "ready for work" "$(jq -r .conclusion check.json)"
for quiet in "" -q; do
  rm -f named.tar.zst
  # shellcheck disable=SC2086
  expect_exit 0 "$GPUREADY" record named.tar.zst $quiet
  expect_in "recorded through GPUREADY_LIBCUDA=$GPUREADY_LIBCUDA, GPUREADY_LIBNVML=$GPUREADY_LIBNVML, not the system's driver" "$err"
done
expect_exit 0 env -u GPUREADY_LIBCUDA -u GPUREADY_LIBNVML "$GPUREADY" record plain.tar.zst
expect_not_in "through" "$err"
# Without a GPU nothing is proven either, but the CPU is not theirs.
echo no library >x.so
for command in check doctor "check --device vulkan"; do
  expect_exit 4 env -u GPUREADY_LIBNVML GPUREADY_LIBCUDA=./x.so "$GPUREADY" $command
  expect_in "GPUREADY_LIBCUDA: ./x.so: " "$out"  # the loader's words
done
expect_exit 0 env -u GPUREADY_LIBNVML GPUREADY_LIBCUDA=./x.so "$GPUREADY" check --device cpu
# A file that is not there is bad input.
for variable in HELPER LIBNVML LIBCUDA LIBNCCL HIP_LIBRARY VULKAN_LIBRARY; do
  for command in check doctor test gpu-test; do
    expect_exit 2 env GPUREADY_$variable=/no/such.so "$GPUREADY" $command
    expect_in "GPUREADY_$variable=/no/such.so: no such file" "$err"
  done
  expect_in "Failed to initialize NVML: GPUREADY_$variable=/no/such.so: no such file" "$out"
done
# Strict: no command goes on.
for command in check detect doctor test gpu-test; do
  GPUREADY_STRICT=1 GPUREADY_TRUST_NAMED_LIBRARIES=1 expect_exit 2 "$GPUREADY" $command
  expect_in "GPUREADY_STRICT forbids libraries that variables name" "$err"
done
unset GPUREADY_LIBNVML GPUREADY_LIBCUDA
# The program itself as its helper is what runs anyway.
GPUREADY_STRICT=1 GPUREADY_HELPER=$GPUREADY expect_exit 0 "$GPUREADY" detect
printf '#!/bin/sh\nexec "%s" "$@"\n' "$GPUREADY" >helper
chmod +x helper
GPUREADY_STRICT=1 GPUREADY_HELPER=$PWD/helper expect_exit 2 "$GPUREADY" detect
expect_in "GPUREADY_HELPER=$PWD/helper" "$err"
