#!/usr/bin/env bash
# Times `gpuready pack install` of real libraries from a local HTTP server against `curl | zstd -d |
# sha256sum` of the same bytes, a switch between two variants that share most bytes, a second install and a
# roll-back. Usage: pack_install.sh GPUREADY WORK_FOLDER LIBRARY...
# The variants are "one", with all libraries, and "two", in which the first is another file of the same size.
set -euo pipefail
gpuready=$(realpath "$1") work=$2 here=$(cd "$(dirname "$0")" && pwd)
shift 2
rm -rf "$work" && mkdir -p "$work/one/lib" "$work/two/lib"
for library in "$@"; do
  cp -L "$library" "$work/one/lib/"
  ln "$work/one/lib/$(basename "$library")" "$work/two/lib/"
done
cd "$work"
export HOME=$work/home
# Another first library: the same bytes, each block of 4 KiB with another beginning, so that it is as large packed.
first=two/lib/$(basename "$1")
rm "$first"
python3 - "one/lib/$(basename "$1")" "$first" <<'P'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[64 << 10::4096] = b"\x5a" * len(data[64 << 10::4096])
open(sys.argv[2], "wb").write(data)
P
printf 'name = "bench"\nversion = "1"\nfolder = "{variant}"\n[variants.one]\n[variants.two]\n' >pack.toml
# What the libraries want beside themselves is nothing that is timed.
echo "a text in place of the licences" | tee one/License.txt >two/License.txt
"$gpuready" pack inspect one --json=one.json >/dev/null
needed=$(jq -c '[.files[].elf.needed[]?] | unique' one.json)
sed -i "s/^folder.*/&\nsystem_libraries = $needed/" pack.toml
"$gpuready" pack key key --no-password -q >/dev/null
"$gpuready" pack build --out built --zstd-level "${LEVEL:-3}" || true
# Declares what the scanner found in all libraries: this is about time.
python3 - <<'P'
import json, re
targets = None
for name in ("one", "two"):
    code = json.load(open(f"built/{name}.variant.json"))["variant"].get("code", [])
    for file in code:
        found = {t for m in file["modules"] for t in m["targets"] if t.startswith("sm_")}
        targets = found if targets is None else targets & found
text = open("pack.toml").read()
if targets:
    line = "architectures = [" + ", ".join(f'"{t[3:].split()[0]}"' for t in sorted(targets)) + "]\n"
    text = re.sub(r"(\[variants\.\w+\]\n)", r"\1" + line, text)
    open("pack.toml", "w").write(text)
P
"$gpuready" pack build --out built --zstd-level "${LEVEL:-3}" -q || true
# Run paths of wheels lead to their other packages; nor is that what is timed.
for file in built/*.variant.json; do jq 'del(.gaps)' "$file" >without && mv without "$file"; done
"$gpuready" pack publish --built built --to release --key key.key -q >/dev/null
coproc server { exec python3 "$here/range_server.py" release; }
read -r port <&"${server[0]}"
trap 'kill $server_PID' EXIT
url=http://127.0.0.1:$port
now() { date +%s%N; }
ms() { echo $((($2 - $1) / 1000000)); }
archive=$(basename release/bench-1-one.tar.zst)
cat release/*.zst >/dev/null
best_pipe= best_install=
for _ in 1 2 3; do
  a=$(now); curl -s "$url/$archive" | zstd -dc | sha256sum >/dev/null; b=$(now)
  t=$(ms "$a" "$b"); [ -n "$best_pipe" ] && [ "$best_pipe" -le "$t" ] || best_pipe=$t
  rm -rf home; sync
  a=$(now); "$gpuready" pack install "$url" --key key.pub --variant one --no-load-test -q; b=$(now)
  t=$(ms "$a" "$b"); [ -n "$best_install" ] && [ "$best_install" -le "$t" ] || best_install=$t
done
a=$(now); "$gpuready" pack install "$url" --variant one --no-load-test -q; b=$(now); again=$(ms "$a" "$b")
a=$(now); "$gpuready" pack install "$url" --variant two --no-load-test --json=switch.json -q >/dev/null; b=$(now); switch=$(ms "$a" "$b")
a=$(now); "$gpuready" pack rollback bench -q >/dev/null; b=$(now); back=$(ms "$a" "$b")
python3 - "$best_pipe" "$best_install" "$again" "$switch" "$back" <<'P'
import json, os, sys
pipe, install, again, switch, back = map(int, sys.argv[1:])
doc = json.load(open("switch.json"))
content = doc["content_bytes"]
print(f"{content / 1e6:.0f} MB in {doc['files']} files, archive {os.path.getsize('release/bench-1-one.tar.zst') / 1e6:.0f} MB")
print(f"curl | zstd -dc | sha256sum   {pipe} ms")
print(f"pack install                  {install} ms, {install / pipe:.2f} of it")
print(f"install again                 {again} ms")
print(f"switch of variants            {switch} ms, {switch / install:.3f} of an install; writes {doc['written_bytes'] / content:.3f} of the bytes")
print(f"roll back                     {back} ms")
P
