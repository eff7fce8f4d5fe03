#!/usr/bin/env bash
# What an update fetches and how long it takes: two releases of one library, installed from a local HTTP server that is
# not limited, or to 100 MB/s or 12.5 MB/s; the best of 3.
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
install() {  # NAME FROM
  sync
  local begun; begun=$(now)
  "$gpuready" pack install "$2" --key key.pub --variant all --no-load-test --json="$1.json" -q >/dev/null
  echo $((($(now) - begun) / 1000000)) >>"$1.ms"
}
publish 1 "$3"
install old release
mv home home.old
begun=$(now); publish 2 "$4"; echo "build and publish: $((($(now) - begun) / 1000000)) ms"
for rate in inf 100 12.5; do
  coproc server { exec python3 "$here/range_server.py" release "$rate"; }
  read -r port <&"${server[0]}"
  trap 'kill $server_PID' EXIT
  rm -f {update,fresh}.{ms,json}
  for _ in 1 2 3; do
    cp -al home.old home
    install update "http://127.0.0.1:$port"
    cmp all/lib/libtimed.so home/.local/share/bench/gpu-libs/current/lib/libtimed.so
    rm -rf home
    install fresh "http://127.0.0.1:$port"
    cmp all/lib/libtimed.so home/.local/share/bench/gpu-libs/current/lib/libtimed.so
    rm -rf home
  done
  trap - EXIT
  kill "$server_PID" && wait "$server_PID" || true
  python3 - "$rate" <<'P'
import json, sys
read = lambda name: (json.load(open(name + ".json"))["fetched_bytes"] / 1e6, min(map(int, open(name + ".ms"))))
(update, update_ms), (fresh, fresh_ms) = read("update"), read("fresh")
print(f"{sys.argv[1]} MB/s: fresh {fresh:.1f} MB, {fresh_ms} ms; update {update:.1f} MB, {update_ms} ms: "
      f"{update / fresh:.3f} of the bytes, {update_ms / fresh_ms:.2f} of the time")
P
done
