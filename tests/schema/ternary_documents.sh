# Writes the documents of `gpuready ternary` that validate.py reads: ternary_documents.sh FOLDER.
set -euo pipefail
mkdir -p "$1"
for kind in tq2 i2s floats bad-codes overlap; do
  /usr/bin/python3 "$SOURCE/tests/cli/gguf.py" "$1/$kind.gguf" $kind
  "$GPUREADY" ternary inspect "$1/$kind.gguf" --json="$1/ternary-inspect.$kind.json" >/dev/null ||
    [ $? -eq 1 ]
  "$GPUREADY" ternary convert "$1/$kind.gguf" "$1/new.gguf" --to tq1_0 --force \
    --json="$1/ternary-convert.$kind.json" >"$1/log" 2>&1 || [ $? -eq 2 ]
  rm -f "$1/$kind.gguf" "$1/new.gguf" "$1/log"
done
