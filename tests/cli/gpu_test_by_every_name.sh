. "$LIB"
[ ! -e /proc/driver/nvidia ] || skip "this machine has a GPU"
export GPUREADY_LIBNVML=$FAKES/fake_nvml.so GPUREADY_LIBCUDA=$FAKES/fake_cuda.so
# What starts it, how: children must have run, since only they load the driver.
rm -rf copy other bin && mkdir copy other bin
cp "$GPUREADY" copy/gpu_test
ln copy/gpu_test other/gpu_test
ln -s "$GPUREADY" bin/gpu_test
cp "$GPUREADY" other/worker.check
# This driver has no kernel but the memory test's, which only a worker that ran can say.
answers() { # HOW COMMAND...
  local how=$1
  shift
  expect_exit 1 "$@"
  [ "$(grep -c '^GPU 0 memory allocation test failed.*cuModuleGetFunction' stdout.txt)" = 1 ] || die "$how: $out"
}
answers "a copy" copy/gpu_test
answers "a hard link" other/gpu_test
answers "a symbolic link" bin/gpu_test
answers "found through PATH" env PATH="$PWD/copy:$PATH" gpu_test
answers "an option" copy/gpu_test --timeout 20
answers "a command of its own" copy/gpu_test gpu-test
answers "another name" other/worker.check gpu-test
answers "another name, called gpu_test" bash -c 'exec -a gpu_test other/worker.check'
answers "called gpuready" bash -c 'exec -a gpuready copy/gpu_test gpu-test'
loader=$(readelf -p .interp copy/gpu_test | grep -o '/[^ ]*')
answers "started through the loader" "$loader" copy/gpu_test
answers "started through the loader, another name" "$loader" ./other/worker.check gpu-test
(cd other && answers "started through the loader, from its folder" "$loader" ./gpu_test)
answers "an empty name" bash -c 'exec -a "" copy/gpu_test gpu-test'
for moved in "rm copy/gpu_test" "mv copy/gpu_test copy/gone" "cp other/worker.check copy/new && mv copy/new copy/gpu_test"; do
  [ -e copy/gpu_test ] || cp "$GPUREADY" copy/gpu_test
  answers "$moved, before it ran" bash -c "exec 9<copy/gpu_test && $moved && exec -a gpu_test /proc/self/fd/9"
  # While it runs, before it has started all of its children.
  [ -e copy/gpu_test ] || cp "$GPUREADY" copy/gpu_test
  answers "$moved, while it ran" bash -c "FAKE_CUDA=launch_ms=5 copy/gpu_test & sleep 0.3; $moved; wait \$!"
done
# Every name runs every command, those that start themselves by a command's name among them.
cp "$GPUREADY" copy/gpu_test
expect_exit 0 bash -c 'exec -a gpuready copy/gpu_test ternary verify --tier scalar'
expect_exit 0 copy/gpu_test ternary verify --tier scalar
# No argv at all: the kernel gives an empty name, older ones none.
cat >no_argv.py <<'PY'
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
path = sys.argv[1].encode()
libc.execv(path, (ctypes.c_char_p * 1)(None))
PY
expect_exit 1 python3 no_argv.py copy/gpu_test
expect_in "NVIDIA H200" "$out"  # told by a child; not ready, since the fake driver has faults
