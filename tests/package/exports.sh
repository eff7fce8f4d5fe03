#!/usr/bin/env bash
# A library exports the functions that its headers declare: no more, no less, each with the version that
# cmake/exports.map gives it. And it promises what the binary does: glibc alone, and none newer than 2.28.
# Usage: exports.sh SOURCE LIBRARY SONAME CC HEADER...
set -euo pipefail
source=$1 library=$2 soname=$3 cc=$4
fail() { echo "exports: $library: $*" >&2; exit 1; }

abi=$(grep -oE 'GPUREADY_ABI_VERSION = [0-9]+' "$source/include/gpuready/gpuready.h" | grep -oE '[0-9]+')
declared=$(for header in "${@:5}"; do
             "$cc" -E -P -I "$source/include" "$source/include/gpuready/$header" | tr '\n' ' ' |
               grep -oE 'visibility\("default"\)\)\)[^;(]*\(' | grep -oE '[A-Za-z0-9_]+ *\($' | tr -d ' (' |
               sed "s/\$/@@GPUREADY_$abi/"
           done | sort -u)
exported=$(readelf -W --dyn-syms "$library" | awk '$7 != "UND" && $4 == "FUNC" { print $8 }' | sort)
[ "$(wc -l <<<"$declared")" -ge 20 ] || fail "the headers were not understood"
diff <(echo "$declared") <(echo "$exported") >&2 || fail "< is declared alone, > is exported alone"

[ "$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')" = "$soname" ] || fail "the name is not $soname"
"$source/scripts/check_binary.sh" "$library"
