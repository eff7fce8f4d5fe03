# Writes the documents of `gpuready ternary` that validate.py reads: ternary_documents.sh FOLDER.
set -euo pipefail
mkdir -p "$1"
for kind in tq2 i2s floats bad-codes overlap; do
  /usr/bin/python3 "$SOURCE/tests/cli/gguf.py" "$1/$kind.gguf" $kind
  "$GPUREADY" ternary inspect "$1/$kind.gguf" --json "$1/ternary-inspect.$kind.json" >/dev/null ||
    [ $? -eq 1 ]
  rm "$1/$kind.gguf"
done
