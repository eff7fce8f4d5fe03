# For tests of apps that install examples/pack: makes a release of it on a web server, in an empty folder, and gives them a
# machine with a GPU and the packages of gpuready. The machine with a GPU is a fake driver, which executes nothing: the
# recipe's probe kernel is left out, and the library of the GPU's variant falls back to its CPU code.
# Usage: source ternary_dot_release.sh FOLDER SOURCE GPUREADY FAKE_DRIVERS TOOL...
set -euo pipefail
source=$2 gpuready=$3 drivers=$4
die() { echo "FAILED: $*" >&2; exit 1; }
skip() { echo "skipped: $*"; exit 77; }
for tool in clang cc python3 jq "${@:5}"; do command -v "$tool" >/dev/null || skip "no $tool"; done
rm -rf "$1" && mkdir -p "$1/home" && cd "$1"
export HOME=$PWD/home
work=$PWD

cp -r "$source/examples/pack" maker
sed '/^# Launched/,$d' "$source/examples/pack/pack-ptx.toml" >maker/pack-ptx.toml
(cd maker
 "$gpuready" pack key ternary-dot --no-password -q
 "$gpuready" pack build pack-ptx.toml
 "$gpuready" pack publish pack-ptx.toml --key ternary-dot.key --to "$work/release") >maker.log 2>&1 || die "$(cat maker.log)"
: >server.log
python3 -u -m http.server 0 --bind 127.0.0.1 --directory release >server.log 2>&1 &
server=$!
trap 'kill $server' EXIT
for _ in $(seq 100); do port=$(sed -n 's/.*port \([0-9]*\).*/\1/p' server.log); [ -n "$port" ] && break; sleep 0.1; done
export TERNARY_DOT_RELEASE=http://127.0.0.1:$port
key=$(tail -1 maker/ternary-dot.pub)
other_key=$("$gpuready" pack key other --no-password --json=- | jq -r .public_key)
fetched() { grep -c '"GET .*\.tar' server.log || true; }

archive=$(ls release/*gpu*.tar*)
cp "$archive" whole
change_archive() {
  python3 - "$archive" whole <<'P'
import sys
data = bytearray(open(sys.argv[2], "rb").read())
for place in range(0, len(data), 64):
    data[place] ^= 1
open(sys.argv[1], "wb").write(data)
P
}

mkdir -p stage/bin stage/share/doc/gpuready
cp "$gpuready" stage/bin/gpuready
artefact() {  # artefact KIND FOLDER: gpuready as a release packs it
  python3 "$source/packaging/artefacts.py" "$1" --stage stage --out "$2" --version 0.0.1 --machine "$(uname -m)" --epoch 1000000000
}
artefact notices stage/share/doc/gpuready >/dev/null

machine() {  # machine gpu|none COMMAND...
  local kind=$1
  shift
  if [ "$kind" = none ]; then GPUREADY_FAKE=none "$@"; return; fi
  GPUREADY_LIBNVML=$drivers/fake_nvml.so GPUREADY_LIBCUDA=$drivers/fake_cuda.so GPUREADY_TRUST_NAMED_LIBRARIES=1 \
    FAKE_CUDA="cc=9.0" "$@"
}
