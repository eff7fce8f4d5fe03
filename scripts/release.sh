#!/usr/bin/env bash
# Puts what a release consists of into one folder: stripped programs and libraries, manual pages, units for
# systemd, the shell's completion, install.sh, and the checksums of all of these. x86-64 always, aarch64 where it can
# be made.
# Usage: scripts/release.sh [FOLDER]        (build/dist)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=${1:-build/dist}
here=$(uname -m)

[ -f build/release/build.ninja ] || scripts/build.sh release gpuready -- -DGPUREADY_TESTS=OFF
scripts/build.sh release gpuready gpuready_shared
rm -rf "$folder"
mkdir -p "$folder"
take() {  # take BUILD MACHINE STRIP
  local file
  for file in gpuready libgpuready.so.0; do
    "$3" -o "$folder/$file-$2" "$(readlink -f "$1/src/$file")"
    STRIP=$3 scripts/check_binary.sh "$(readlink -f "$1/src/$file")"
  done
}
take build/release "$here" strip
if [ "$here" = x86_64 ]; then
  if scripts/aarch64.sh gpuready gpuready_shared; then
    take build/aarch64 aarch64 aarch64-linux-gnu-strip
  else
    [ $? = 77 ] && echo "release: without the program for aarch64" >&2 || exit 1
  fi
fi
for page in $(build/release/src/gpuready __pages); do
  build/release/src/gpuready __pages "$page" >"$folder/$page"
done
cp include/gpuready/gpuready.h include/gpuready/ternary_c.h scripts/install.sh LICENSE "$folder"
cp src/products/vm/systemd/*.service "$folder"
(cd "$folder" && sha256sum -- * >.sums && mv .sums SHA256SUMS)
ls -l "$folder" >&2
