#!/usr/bin/env bash
# libgpuready.so exports the functions that its headers declare: no more, no less. And it promises
# what the binary does: glibc alone, and none newer than 2.28.
# Usage: exports.sh SOURCE LIBRARY [CC]
set -euo pipefail
source=$1 library=$2 cc=${3:-cc}

declared=$(for header in "$source"/include/gpuready/{gpuready,*_c}.h; do
             "$cc" -E -P -I "$source/include" "$header" | tr '\n' ' ' |
               grep -oE 'visibility\("default"\)\)\)[^;(]*\(' | grep -oE '[A-Za-z0-9_]+ *\($' | tr -d ' ('
           done | sort -u)
exported=$(nm -D --defined-only "$library" | awk '{print $NF}' | sort)
[ "$(wc -l <<<"$declared")" -ge 20 ] || { echo "exports: the headers were not understood" >&2; exit 1; }
diff <(echo "$declared") <(echo "$exported") >&2 ||
  { echo "exports: < is declared alone, > is exported alone" >&2; exit 1; }

[ "$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')" = libgpuready.so.0 ] ||
  { echo "exports: the name is not libgpuready.so.0" >&2; exit 1; }
"$source/scripts/check_binary.sh" "$library"
