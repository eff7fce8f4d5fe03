#!/usr/bin/env bash
# A program in Rust that links libgpuready.so as it lies in the build folder. Usage: rust.sh RUSTC SOURCE LIBRARY
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
libraries=$(dirname "$3")
"$1" --edition 2021 -L "$libraries" -o "$folder/ternary" "$2"
said=$(LD_LIBRARY_PATH=$libraries "$folder/ternary")
echo "$said"
grep -q '^product: -42 -43 85, from [0-9]* saved bytes$' <<<"$said"
grep -q '^half a header: status 16: packed weights begin with a header of 64 bytes' <<<"$said"
