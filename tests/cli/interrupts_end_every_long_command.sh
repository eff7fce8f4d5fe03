. "$LIB"
# What takes longer than a second ends by Ctrl-C, or SIGTERM, with 130 or, where something is broken, 1, and
# says that it was interrupted; never with 0.
[ ! -e /proc/driver/nvidia ] || skip "this machine has a GPU"
rm -rf work && mkdir work && cd work
export HOME=$PWD XDG_DATA_HOME= GPUREADY
signal=INT
# ends BEGUN COMMAND...: signalled once the shell command BEGUN holds.
ends() {
  local begun=$1 got=0 started=$SECONDS ended
  shift
  "$@" >out.txt 2>err.txt </dev/null &
  local child=$!
  until eval "$begun"; do
    kill -0 "$child" 2>/dev/null || die "it ended before: $* $(cat out.txt err.txt)"
    [ $((SECONDS - started)) -lt 60 ] || { kill -9 $child; die "it did not begin: $*"; }
    sleep 0.1
  done
  sleep 0.2
  ended=$SECONDS
  kill -$signal "$child" 2>/dev/null || die "it ended before: $* $(cat out.txt err.txt)"
  kill -$signal "$child" 2>/dev/null || true  # as timeout(1) does, which signals the process and its group
  wait "$child" || got=$?
  [ $((SECONDS - ended)) -le "${most:-20}" ] || die "$((SECONDS - ended)) s after the signal: $*"
  [ "$got" = "${want:-130}" ] || die "exit $got instead of ${want:-130}: $*"$'\n'"$(cat out.txt err.txt)"
  grep -qi interrupted out.txt err.txt || die "not told: $* $(cat out.txt err.txt)"
  if [ $signal = INT ]; then signal=TERM; else signal=INT; fi
}
asked() { # TEXT: a child of the test's whose command line holds it runs
  pgrep -P "$(pgrep -P $$ -n -x gpuready || echo 0)" -f "$1" >/dev/null
}

# Every command that asks a driver which hangs.
export GPUREADY_LIBNVML=$FAKES/fake_nvml.so GPUREADY_LIBCUDA=$FAKES/fake_cuda.so
export FAKE_NVML="hang=nvmlInit_v2"
for command in check test selftest detect doctor gpu-test "record r.tar.zst" \
  "pack install release" "pack explain $FAKES/fake_cuda.so" "bench run --device cuda"; do
  # shellcheck disable=SC2086
  ends 'asked "__probe nvml"' "$GPUREADY" $command
done
[ ! -e r.tar.zst ] || die "part of a recording"
export FAKE_NVML= FAKE_CUDA="hang=cuMemAlloc_v2"
# A fault was found by then; the GPU that hangs is not known to have one. Its worker is not waited for.
for command in "check --busy" "test --busy --only memory"; do
  # shellcheck disable=SC2086
  want=1 most=2 ends 'asked __worker' "$GPUREADY" $command
done
ends 'asked __worker' "$GPUREADY" selftest --busy --device 0
want=1 most=2 ends 'asked __worker' "$GPUREADY" gpu-test
FAKE_CUDA="hang=cuInit"
for command in verify bench; do ends 'asked "ternary $command"' "$GPUREADY" ternary $command --device cuda; done
# A part that was measured is told, and is not the whole.
shapes=16x64x256$(printf ',128x256x%d' $(seq 1024 256 16384))
for seconds in 1 4 16; do  # until the first shape is timed, on a slow machine or with sanitizers, too
  ends "sleep $seconds" "$GPUREADY" ternary bench --device cpu --shape $shapes --json=rows.json
  ! jq -e 'any(.rows[]; .status == "passed")' rows.json >/dev/null || break
done
jq -e '.exit_code == 130 and any(.rows[]; .status == "passed") and
  all(.rows[]; .status == "passed" or .reason == "it was interrupted")' rows.json >/dev/null || die "$(cat rows.json)"
# What is left out is told in one line; what had ended stays.
one_line() {
  [ "$(grep -c "^  \[!\] Interrupted; $1: " out.txt)" = 1 ] || die "not in one line: $(cat out.txt)"
  ! grep -q "it was interrupted\|not reached\|: *$" out.txt || die "line by line: $(cat out.txt)"
}
one_line "not timed"
ends 'sleep 1' "$GPUREADY" ternary verify --device cpu --thorough --json=verify.json
one_line "not finished"
jq -e '(.conclusion | startswith("Interrupted. By then ")) and
  all(.checks[]; .status == "passed" or .reason == "it was interrupted")' verify.json >/dev/null || die "$(cat verify.json)"
unset GPUREADY_LIBNVML GPUREADY_LIBCUDA
ends 'sleep 1' "$GPUREADY" test --device cpu --only memory --duration 60
grep -q '^\[!\] Interrupted' out.txt || die "not told as unfinished: $(cat out.txt)"
ends 'sleep 1' "$GPUREADY" selftest --device cpu --trials 1000000

# Commands of others.
export MINE_BENCH_CMD="sh -c 'touch began; sleep 60'"
ends '[ -e began ]' "$GPUREADY" bench run --device cpu --stack mine --task gemm --m 8 --n 16 --k 32
rm -f began
ends '[ -e began ]' "$GPUREADY" bench loop a b --command "$MINE_BENCH_CMD"
rm -f began
ends '[ -e began ]' "$GPUREADY" bench loop a b --gate "$MINE_BENCH_CMD"
rm -f began
cat >pack.toml <<'T'
name = "libs"
version = "1.0"
folder = "source"
[variants.cpu]
build = ["sh", "-c", "touch began; sleep 60"]
T
mkdir -p source
ends '[ -e began ] || [ -e ../began ]' "$GPUREADY" pack build

# Files that never come to an end: a server that says nothing, a pipe that nobody writes to.
python3 - <<'END' &
import socket
server = socket.create_server(("127.0.0.1", 0))
open("port.new", "w").write(str(server.getsockname()[1]))
import os; os.rename("port.new", "port")
held = []
while True:
    held.append(server.accept())
    open("asked", "a").write("x")
END
server=$!
trap 'kill $server' EXIT
until [ -s port ]; do sleep 0.1; done
url=http://127.0.0.1:$(cat port)
sum=$(printf '0%.0s' $(seq 64))
for command in "pack inspect $url/a.whl" "pack explain --gpu 8.6 $url/a.whl" "pack select $url --gpu none" \
  "pack install $url --gpu none" "vm drivers fetch $url/a.run --sha256 $sum"; do
  rm -f asked
  # shellcheck disable=SC2086
  ends '[ -e asked ]' "$GPUREADY" $command
done
# A gigabyte of ternary weights, and an archive of as much, that take no room.
python3 - <<'END'
import tarfile
import struct
text = lambda value: struct.pack("<Q", len(value)) + value.encode()
size = 8192 * 8192 // 256 * 66
head = b"GGUF" + struct.pack("<IQQ", 3, 64, 1) + text("general.architecture") + struct.pack("<I", 8) + text("x")
for i in range(64):
    head += text(f"w{i}.weight") + struct.pack("<IQQIQ", 2, 8192, 8192, 35, i * size)
with open("large.gguf", "wb") as file:
    file.write(head + bytes(-len(head) % 32))
    file.truncate(file.tell() + 64 * size)
with open("large.tar", "wb") as file:
    for name in "lib/libx.so.1", "libcuda.so.550.54.14", "libnvidia-ml.so.550.54.14":
        member = tarfile.TarInfo(name)
        member.size = 1 << 29
        file.write(member.tobuf())
        file.write(b"\x7fELF\x02\x01\x01" + bytes(57))
        file.seek(member.size - 64, 1)
    file.truncate(file.tell() + 1024)
END
"$GPUREADY" pack key key --no-password >/dev/null
for command in "ternary inspect large.gguf" "ternary verify large.gguf --device cpu" \
  "ternary convert large.gguf new.gguf --to tq1_0" "pack inspect large.tar" "pack explain --gpu 8.6 large.tar" \
  "pack adopt cpu=large.tar --name libs --version 1.0 --key key.key --to release" \
  "vm drivers collect large.tar -o bundle"; do
  # shellcheck disable=SC2086
  ends 'sleep 0.3' "$GPUREADY" $command
done
for left in new.gguf release/manifest.json bundle built; do [ ! -e $left ] || die "$left was left"; done
cd .. && rm -rf work
