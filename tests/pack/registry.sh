# A release pushed by skopeo to Debian's docker-registry on the loopback, and installed from there.
# usage: registry.sh GPUREADY; needs the packages docker-registry and skopeo (class `full`). TOOLS: a folder where they were
# unpacked to instead.
set -euo pipefail
gpuready=$1
die() { echo "FAILED: $*" >&2; exit 1; }
PATH=$PATH:${TOOLS:-/}/usr/bin:/usr/sbin
for tool in docker-registry skopeo jq; do command -v $tool >/dev/null || { echo "SKIPPED: no $tool" >&2; exit 77; }; done
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy GPUREADY_OCI_TOKEN
work=$(mktemp -d)
trap 'kill $server 2>/dev/null || true; rm -rf "$work"' EXIT
server=
cd "$work"
export HOME=$PWD/home
mkdir -p home source/cpu source/gpu
"$gpuready" pack key key --no-password -q >/dev/null
head -c 3000000 /dev/urandom >source/cpu/noise
cp source/cpu/noise source/gpu/noise
printf '.version 6.3\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n  ret;\n}\n\0' >source/gpu/code.ptx
printf 'name = "libs"\nversion = "1.0"\nfolder = "source/{variant}"\n[variants.cpu]\n[variants.gpu]\narchitectures = ["75-virtual"]\n' >pack.toml
"$gpuready" pack build --out built -q >/dev/null
"$gpuready" pack publish --built built --to release --key key.key --oci layout --part-mb 1 -q >/dev/null

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >config.yml <<T
version: 0.1
storage:
  filesystem:
    rootdirectory: $PWD/storage
http:
  addr: 127.0.0.1:$port
T
docker-registry serve config.yml >registry.log 2>&1 & server=$!
for _ in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null && break; sleep 0.1; done
skopeo --insecure-policy copy --preserve-digests --dest-tls-verify=false oci:layout:1.0 docker://127.0.0.1:$port/team/libs:1.0 >skopeo.log 2>&1 || die "skopeo: $(cat skopeo.log)"
at=oci+http://127.0.0.1:$port/team/libs
digest=$(jq -r '.manifests[0].digest' layout/index.json)
"$gpuready" pack install $at:1.0 --key key.pub --gpu 8.6 --json=install.json >/dev/null || die "$(cat install.json)"
cmp source/gpu/code.ptx home/.local/share/libs/gpu-libs/current/code.ptx || die "other files"
"$gpuready" pack verify libs >/dev/null || die "verify"
# A switch fetches what differs, by ranges that the registry answers.
"$gpuready" pack install $at@$digest --variant cpu --no-load-test --json=switch.json >/dev/null || die "$(cat switch.json)"
[ "$(jq .fetched_bytes switch.json)" = 0 ] || die "$(cat switch.json)"
rm -rf home
"$gpuready" pack install $at@$digest --key key.pub --gpu none --json=again.json >/dev/null || die "$(cat again.json)"
cmp source/cpu/noise home/.local/share/libs/gpu-libs/current/noise || die "other files"
# A blob that changed in the registry's storage is refused, and what is installed stays.
rm -rf home
for file in $(find storage -path '*blobs*' -name data -size +900k); do printf x | dd of="$file" bs=1 seek=500000 conv=notrunc status=none; done
if "$gpuready" pack install $at:1.0 --key key.pub --gpu none >changed.txt 2>&1; then die "a changed blob was installed"; fi
echo "released, pushed, installed"
