#!/usr/bin/env bash
# What an update fetches: two releases of one library, installed from a local HTTP server.
# Usage: pack_update.sh GPUREADY WORK_FOLDER OLD_LIBRARY NEW_LIBRARY
set -euo pipefail
gpuready=$(realpath "$1") work=$2 here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$work" && mkdir -p "$work/all/lib"
cd "$work"
export HOME=$work/home
"$gpuready" pack key key --no-password -q >/dev/null
publish() {  # VERSION LIBRARY
  cp -L "$2" all/lib/libtimed.so
  echo "a text in place of the licences" >all/License.txt
  "$gpuready" pack inspect all --json=all.json >/dev/null
  { echo "system_libraries = $(jq -c '[.files[].elf.needed[]?] | unique' all.json)"
    "$gpuready" pack init all --name bench --version "$1"; } >pack.toml
  "$gpuready" pack build --out built -q >/dev/null
  "$gpuready" pack publish --built built --to release --key key.key -q >/dev/null
}
now() { date +%s%N; }
install() {  # NAME
  sync
  local begun; begun=$(now)
  "$gpuready" pack install "http://127.0.0.1:$port" --key key.pub --variant all --no-load-test --json="$1.json" -q >/dev/null
  echo $((($(now) - begun) / 1000000)) >"$1.ms"
}
publish 1 "$3"
coproc server { exec python3 "$here/range_server.py" release; }
read -r port <&"${server[0]}"
trap 'kill $server_PID' EXIT
install old
begun=$(now); publish 2 "$4"; echo "build and publish: $((($(now) - begun) / 1000000)) ms"
install update
rm -rf home
install fresh
cmp all/lib/libtimed.so home/.local/share/bench/gpu-libs/current/lib/libtimed.so
python3 - <<'P'
import json, os
read = lambda name: (json.load(open(name + ".json"))["fetched_bytes"], int(open(name + ".ms").read()))
(update, update_ms), (fresh, fresh_ms) = read("update"), read("fresh")
print(f"content {os.path.getsize('all/lib/libtimed.so') / 1e6:.1f} MB, archive {fresh / 1e6:.1f} MB, "
      f"file of pieces {os.path.getsize('release/bench-2-all.pieces') / 1e6:.1f} MB")
print(f"fresh installation  {fresh / 1e6:.2f} MB, {fresh_ms} ms")
print(f"update              {update / 1e6:.2f} MB, {update_ms} ms: {update / fresh:.3f} of it")
P
