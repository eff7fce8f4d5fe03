#!/usr/bin/env bash
# A release's folder installs elsewhere, and one whose file was changed does not.
# Usage: release.sh SOURCE BUILD
set -euo pipefail
source=$1 folder=$2/release-test
fail() { echo "release: $*" >&2; exit 1; }
rm -rf "$folder"
"$source/scripts/release.sh" "$folder/dist" >"$2/release-test.log" 2>&1 || { cat "$2/release-test.log" >&2; exit 1; }
"$folder/dist/install.sh" --prefix "$folder/first" >/dev/null || fail "it does not install"
[ "$(env -i "$folder/first/bin/gpuready" --version | head -n 1)" = "$("$2/src/gpuready" --version | head -n 1)" ] ||
  fail "the installed program is another version"
for file in lib/libgpuready.so include/gpuready/gpuready.h share/man/man1/gpuready-check.1 \
            share/bash-completion/completions/gpuready lib/systemd/system/gpuready-vm-hold.service; do
  [ -s "$folder/first/$file" ] || fail "$file was not installed"
done
printf x >>"$folder/dist/gpuready-check.1"
if "$folder/dist/install.sh" --prefix "$folder/second" >/dev/null 2>&1; then fail "a changed file was installed"; fi
[ ! -e "$folder/second" ] || fail "something of a changed release was installed"
rm "$folder/dist/SHA256SUMS"
if "$folder/dist/install.sh" --prefix "$folder/second" >/dev/null 2>&1; then fail "it installed without checksums"; fi
ls "$folder/dist"
