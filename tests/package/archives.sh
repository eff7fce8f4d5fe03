#!/usr/bin/env bash
# The installed archives are linked into programs of others: every symbol that they give and that
# could meet another is in namespace gpuready, or begins with gpuready_. They cannot hide what is inside
# from each other, so what is inside is there too; what is hidden from programs is by the headers.
# Weak symbols (templates and inline functions of the standard library) are as in any C++ object.
# Usage: archives.sh ARCHIVE...
set -euo pipefail
[ $# -ge 5 ] || { echo "archives: too few" >&2; exit 1; }
for archive in "$@"; do
  given=$(nm -C --defined-only --extern-only "$archive" | awk 'NF >= 3 { type = $2; $1 = $2 = ""; print type $0 }' |
    grep -v '^[VWu] ')
  [ -n "$given" ] || { echo "archives: $archive gives nothing" >&2; exit 1; }
  if grep -vE '^. +((vtable|VTT|typeinfo|typeinfo name|guard variable) for )?gpuready(::|_)' <<<"$given" >&2; then
    echo "archives: $(basename "$archive") gives these names outside of gpuready" >&2
    exit 1
  fi
done
