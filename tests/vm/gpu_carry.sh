#!/usr/bin/env bash
# Puts into FOLDER what tests/vm/gpu_inject.sh needs on a machine without a network:
#   tests/vm/gpu_carry.sh BUILD_FOLDER FOLDER
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
. "$here/bare_root.sh"
build=$(realpath "$1")
mkdir -p "$2"
cd "$2"
strip -o gpuready "$build/src/gpuready"
strip -o gpuready-guest "$build/src/gpuready-guest"
work=$(mktemp -d "$PWD/root.XXXXXX")
trap 'rm -rf "$work"' EXIT
(cd "$work" && apt-get download -q libc6 >/dev/null)
make_bare_root "$work/root" "$work"/libc6_*.deb
tar -C "$work/root" --sort=name --owner=0 --group=0 -cf debian-root.tar .
ls -l gpuready gpuready-guest debian-root.tar
