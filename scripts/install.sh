#!/bin/sh
# Installs gpuready from a release's folder (scripts/release.sh) into a prefix: the program for this machine, its
# library, headers, manual pages, units for systemd and the shell's completion. Nothing is written unless every
# checksum is right.
# Usage: install.sh [--prefix /usr/local] [--from FOLDER]      (FOLDER: where this script lies)
set -eu
prefix=/usr/local
from=$(dirname "$0")
fail() { echo "install: $*" >&2; exit 1; }
while [ $# -gt 0 ]; do
  case $1 in
    --prefix) prefix=${2:?--prefix needs a folder}; shift 2 ;;
    --from) from=${2:?--from needs a folder}; shift 2 ;;
    *) fail "unknown argument $1; usage: install.sh [--prefix FOLDER] [--from FOLDER]" ;;
  esac
done
[ -f "$from/SHA256SUMS" ] || fail "$from is not the folder of a release: it has no SHA256SUMS"
machine=$(uname -m)
[ "$machine" != arm64 ] || machine=aarch64
[ -f "$from/gpuready-$machine" ] || fail "this release has no program for $machine"
(cd "$from" && sha256sum --quiet --strict -c SHA256SUMS) || fail "a file differs from its checksum; get the release again"
listed() { grep -qE "^[0-9a-f]{64} [ *]$1\$" "$from/SHA256SUMS" || fail "$1 has no checksum"; }

put() {  # put MODE FILE TARGET: beside the old one, then in its place, so that one of both is always whole
  listed "$2"
  mkdir -p "$(dirname "$prefix/$3")"
  cp "$from/$2" "$prefix/$3.new.$$"
  chmod "$1" "$prefix/$3.new.$$"
  mv "$prefix/$3.new.$$" "$prefix/$3"
}
put 755 "gpuready-$machine" bin/gpuready
put 755 "libgpuready.so.0-$machine" lib/libgpuready.so.0
ln -sfn libgpuready.so.0 "$prefix/lib/libgpuready.so"
for header in gpuready.h ternary_c.h; do put 644 $header include/gpuready/$header; done
for page in "$from"/*.1; do put 644 "$(basename "$page")" "share/man/man1/$(basename "$page")"; done
for unit in "$from"/*.service; do put 644 "$(basename "$unit")" "lib/systemd/system/$(basename "$unit")"; done
put 644 gpuready.bash share/bash-completion/completions/gpuready
"$prefix/bin/gpuready" --version
