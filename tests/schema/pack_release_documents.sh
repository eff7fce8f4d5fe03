# Writes the documents of releases and installed packages that validate.py reads: pack_release_documents.sh FOLDER.
set -euo pipefail
mkdir -p "$1"
documents=$(cd "$1" && pwd)
work=$(mktemp -d "$documents/packXXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work/home
mkdir -p home source/gpu source/cpu
printf '.version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n  ret;\n}\n\0' >source/gpu/code.ptx
ln -s code.ptx source/gpu/link
echo cpu >source/cpu/file
cat >pack.toml <<'T'
name = "libs"
version = "1.0"
folder = "source/{variant}"
[variants.cpu]
[variants.gpu]
architectures = ["75-virtual"]
floors.driver = "450.80.02"
[[probes]]
file = "code.ptx"
kernel = "k"
arguments = [{ words = [1] }, { expect = [-1] }, { u32 = 1 }, { u64 = 1 }]
[[models]]
name = "small"
free_mb = 100
T
pack() { local name=$1; shift; "$GPUREADY" pack "$@" --json="$documents/pack-$name.json" >log 2>&1 || [ $? -eq 1 ]; }
pack key.made key key --no-password
pack build.made build --out built
pack publish.made publish --built built --to release --key key.key
tar czf package-cpu.tar.gz -C source/cpu file
pack publish.adopted adopt package-cpu.tar.gz --name other --version 1 --key key.key --to adopted
cp release/manifest.json "$documents/pack-manifest.made.json"
pack select.gpu select release --key key.pub --gpu 8.6,3.5 --driver 550.54.14 --free-mb 200
pack select.cpu select release --key key.pub --gpu none
pack install.planned install release --key key.pub --gpu none --dry-run
pack install.made install release --key key.pub --gpu none
pack install.again install release --gpu none
GPUREADY_FAKE=none "$GPUREADY" pack install release --report "$documents/pack-load-report.made.json" -q >log 2>&1 || true
pack install.gpu install release --gpu 8.6
pack list.made list
pack list.verified verify libs
pack env.made env libs
pack env.checked env libs --check
echo >>release/manifest.json
pack install.refused install release --gpu none
