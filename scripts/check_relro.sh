#!/usr/bin/env bash
# Each file is linked with full RELRO: what leads to code is read-only once the program has started.
# Usage: scripts/check_relro.sh FILE...
set -euo pipefail
for file; do
  readelf -lW "$file" | grep -q GNU_RELRO || { echo "check_relro: $file: no RELRO (-z relro)" >&2; exit 1; }
  # One that is linked statically binds nothing later.
  { ! readelf -d "$file" | grep -q '(NEEDED)' || readelf -d "$file" | grep -qE 'BIND_NOW|FLAGS_1.* NOW'; } ||
    { echo "check_relro: $file binds functions when they are called (-z now is missing)" >&2; exit 1; }
done
