#!/usr/bin/env bash
# What the one binary promises: nothing but glibc's own libraries, no symbol newer than GLIBC_2.35,
# at most 10 MB stripped, no libcuda or libvulkan to start. The shared library promises the same.
# Usage: scripts/check_binary.sh BINARY|LIBRARY.so
set -euo pipefail
binary=$1
fail() { echo "check_binary: $binary: $*" >&2; exit 1; }

foreign=$(readelf -d "$binary" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
          grep -vE '^(libc|libm|libdl|libpthread|librt|ld-linux-x86-64)\.so\.[0-9]+$' || true)
[ -z "$foreign" ] || fail "needs more than glibc: $foreign"

newest=$(readelf -V "$binary" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1)
[ "$(printf '%s\nGLIBC_2.35\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.35 ] ||
  fail "needs $newest; the oldest supported system has GLIBC_2.35"

stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$binary"
bytes=$(stat -c %s "$stripped")
[ "$bytes" -le 10000000 ] || fail "$bytes bytes stripped, more than 10 MB"
# What a library exports is told by its headers (tests/package/exports.sh).
[[ "$binary" == *.so* ]] || [ "$(readelf --dyn-syms -W "$binary" | awk '$7 != "UND" && $5 == "GLOBAL" && $8 != ""' | wc -l)" -le 8 ] ||
  fail "exports symbols of its own (was it linked with -rdynamic?)"
echo "check_binary: $bytes bytes stripped, newest symbol $newest" >&2
