#!/usr/bin/env bash
# What the one binary promises: nothing but glibc's own libraries, no symbol newer than GLIBC_2.28,
# stripped no more than most_bytes, no libcuda or libvulkan to start, full RELRO. The shared library promises the same.
# Says which part of the program takes how many bytes, where the linker wrote a map beside it.
# Usage: scripts/check_binary.sh BINARY|LIBRARY.so
set -euo pipefail
binary=$1 floor=2.28 most_bytes=13000000
fail() { echo "check_binary: $binary: $*" >&2; exit 1; }

foreign=$(readelf -d "$binary" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
          grep -vE '^(libc|libm|libdl|libpthread|librt|ld-linux-(x86-64|aarch64))\.so\.[0-9]+$' || true)
[ -z "$foreign" ] || fail "needs more than glibc: $foreign"

newer=$(readelf -W --dyn-syms "$binary" | grep -oE '[^ ]+@GLIBC_[0-9.]+' | sort -u |
        awk -F'@GLIBC_' -v floor="$floor" '{ split($2, v, "."); split(floor, f, ".") }
          v[1] > f[1] || v[1] == f[1] && v[2] > f[2]')
[ -z "$newer" ] || fail "needs symbols newer than GLIBC_$floor: ${newer//$'\n'/ } (cmake/glibc/newer.c has such functions)"
newest=$(readelf -V "$binary" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1)
[ "$(printf '%s\n' "$newest" "GLIBC_$floor" | sort -V | tail -n 1)" = "GLIBC_$floor" ] || fail "needs $newest"

"$(dirname "${BASH_SOURCE[0]}")/check_relro.sh" "$binary"

stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
${STRIP:-strip} -o "$stripped" "$binary"
bytes=$(stat -c %s "$stripped")
[ "$bytes" -le $most_bytes ] || fail "$bytes bytes stripped, more than $most_bytes"
# What a library exports is told by its headers (tests/package/exports.sh).
[[ "$binary" == *.so* ]] || [ "$(readelf --dyn-syms -W "$binary" | awk '$7 != "UND" && $5 == "GLOBAL" && $8 != ""' | wc -l)" -le 8 ] ||
  fail "exports symbols of its own (was it linked with -rdynamic?)"
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
! grep -qaF -- "$source/" "$stripped" || fail "holds paths of the source ($(strings "$stripped" | grep -m1 -F -- "$source/")): other folders give other bytes"
[ ! -e "$binary.map" ] || "$(dirname "${BASH_SOURCE[0]}")/bytes_by_area.sh" "$binary.map" >&2
echo "check_binary: $bytes bytes stripped, newest symbol $newest" >&2
