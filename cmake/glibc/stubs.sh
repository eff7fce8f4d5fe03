#!/usr/bin/env bash
# Fills a folder with stand-ins for this system's glibc that know nothing newer than a version (stubs.awk).
# With -L of that folder, `-lc` and the rest find them first.
# Usage: stubs.sh COMPILER FLOOR FOLDER [AWK]
set -euo pipefail
compiler=$1 floor=$2 folder=$3 awk=${4:-awk} here=$(dirname "${BASH_SOURCE[0]}")
real() {
  local path
  path=$("$compiler" -print-file-name="$1")
  [[ "$path" = /* ]] || { echo "stubs: $compiler knows no $1: this system's C library is not glibc" >&2; exit 1; }
  echo "$path"
}
stub() {  # stub NAME SONAME FROM
  LC_ALL=C readelf -W --dyn-syms "$3" |
    LC_ALL=C "$awk" -v floor="$floor" -v home="$1" -v script="$folder/$1.map" -f "$here/stubs.awk" >"$folder/$1.s"
  "$compiler" -shared -nostdlib -Wl,-soname,"$2" -Wl,--version-script="$folder/$1.map" -o "$folder/$1.so" "$folder/$1.s"
}
mkdir -p "$folder"
libc=$(real libc.so.6)
nonshared=$(real libc_nonshared.a)
loader=$(echo "$(dirname "$libc")"/ld-linux-*.so.*)
stub libc libc.so.6 "$libc"
stub libpthread libpthread.so.0 "$libc"
stub libdl libdl.so.2 "$libc"
stub librt librt.so.1 "$libc"
stub libm libm.so.6 "$(real libm.so.6)"
mv "$folder/libc.so" "$folder/libc.so.6"
in=$folder
echo "GROUP($in/libc.so.6 AS_NEEDED($in/libpthread.so $in/libdl.so $in/librt.so) $nonshared AS_NEEDED($loader))" \
  >"$folder/libc.so"
