. "$LIB"
[ -e "$FAKES/fake_cuda_ptx.so" ] || skip "the machine that executes PTX belongs to release builds"
export GPUREADY_LIBNVML=$FAKES/fake_nvml.so GPUREADY_LIBCUDA=$FAKES/fake_cuda_ptx.so
export FAKE_CUDA="cc=8.0,memory=512MiB,guard=4KiB" FAKE_NVML_CLOCKS=$PWD/clocks
rm -rf bench-results clocks
bench=("$GPUREADY" bench run --task copy --m 8 --n 16 --max-seconds 0.05 --iters 1 --warmup 0 --repeats 1
  --stack gpuready --no-check)
expect_exit 0 "${bench[@]}" --lock-clocks --json=run.json
[ "$(cat clocks)" = "0 1335 to 1335 MHz"$'\n'"0 free" ] || die "clocks: $(cat clocks)"
expect_in '"clocks_locked": true' "$(cat run.json)"
expect_in "locked at 1335 MHz" "$out"
# Also when the run is killed in the middle.
rm clocks
export SLEEPS_BENCH_CMD="sleep 60"
"${bench[@]}" --lock-clocks=900 --stack sleeps >killed.txt 2>&1 &
run=$!
for _ in $(seq 100); do [ ! -s clocks ] || break; sleep 0.1; done
[ "$(cat clocks)" = "0 900 to 900 MHz" ] || die "clocks: $(cat clocks) $(cat killed.txt)"
kill -9 "$run"
wait "$run" 2>/dev/null || true
for _ in $(seq 50); do [ "$(tail -n 1 clocks)" != "0 free" ] || break; sleep 0.1; done
[ "$(tail -n 1 clocks)" = "0 free" ] || die "the clocks stay locked after a crash: $(cat clocks)"
# Who may not is told, and nothing runs.
FAKE_NVML="nvmlDeviceSetGpuLockedClocks=4" expect_exit 2 "${bench[@]}" --lock-clocks --tag refused
expect_in "it wants root" "$err"
! ls bench-results/*__refused.json 2>/dev/null || die "it ran all the same"
expect_exit 2 "${bench[@]}" --lock-clocks --device cpu
expect_in "does not use an NVIDIA GPU" "$err"
