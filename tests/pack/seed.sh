#!/usr/bin/env bash
# Three machines, each with one GPU, get legacy, modern and latest of a release whose variants hold NVIDIA's own cuDNN and
# cuBLAS beside a provider with the architectures of that variant. By hand: it downloads 4 GB from the Python registry, one
# variant at a time, needs 7 GB in TMPDIR, and deletes them. Usage: seed.sh GPUREADY
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
gpuready=$(realpath "$1") source=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
variant() { # NAME "ARCHITECTURES" PACKAGE...
  mkdir -p "$1/lib"
  python3 "$source/tests/cli/cubin.py" "$1/lib/libprovider.bin" $2
  for package in "${@:3}"; do
    rm -rf wheel && python3 -m pip download -q --no-deps --only-binary :all: -d wheel "$package"
    python3 -m zipfile -e wheel/*.whl "$1"
  done
  rm -rf wheel
  "$gpuready" pack init "$1" --name libs | sed -n '/^.variants/,$p' >>pack.toml
  "$gpuready" pack build --variant "$1" --out built --zstd-level 1 -q
  rm -rf "$1"
}
printf 'name = "libs"\nversion = "1"\n[[waivers]]\nfile = "**"\nreason = "only selected"\n' >pack.toml
variant legacy "50 52 60 61 70" nvidia-cudnn-cu12==9.1.0.70 nvidia-cublas-cu12==12.1.3.1
variant modern "75 80 86" nvidia-cudnn-cu12==9.10.2.21 nvidia-cublas-cu12==12.9.1.4
variant latest "89 90 100 120" nvidia-cudnn-cu13 nvidia-cublas
"$gpuready" pack key key --no-password -q
"$gpuready" pack publish --built built --to release --key key.key -q
wrong=0
for pair in quadro-m2200:legacy rtx-a1000-laptop:modern rtx-pro-6000-blackwell:latest; do
  chosen=$("$gpuready" pack select release --key key.pub --replay "$source/tests/pack/machines/${pair%:*}.json" --json - |
    jq -r '.variants | join("+")')
  echo "${pair%:*}: $chosen"
  [ "$chosen" = "${pair#*:}" ] || wrong=1
done
exit $wrong
