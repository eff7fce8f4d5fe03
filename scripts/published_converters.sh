#!/usr/bin/env bash
# Small files made by the published converters go through `gpuready ternary inspect`, `verify` and `convert`, there and back;
# the published readers must read the same weights. Usage: published_converters.sh WORK_FOLDER GPUREADY [SOURCES]
# - the Python packages gguf (TQ1_0, TQ2_0), safetensors, and transformers for its integrations/bitnet.py, by version;
# - microsoft/BitNet's converter, at a commit. SOURCES: where a clone or mirror of it is.
# Exit 77: a part could not be had and was not tested; the rest passed.
set -euo pipefail
mkdir -p "$1"
work=$(realpath "$1") program=$(realpath "$2") sources=${3:-https://github.com}
cd "$(dirname "${BASH_SOURCE[0]}")"
commit=16da220ae2b510caff437d403288882687f44ae5
skipped=0
not_tested() {
  echo "not tested: $1"
  skipped=77
}
python=$work/venv/bin/python
if ! "$python" -c 'import gguf, safetensors' 2>/dev/null; then
  python3 -m venv "$work/venv" && timeout 300 "$work/venv/bin/pip" install -q --disable-pip-version-check gguf==0.19.0 safetensors==0.8.0 ||
    { not_tested "the Python packages gguf and safetensors cannot be installed here"; exit 77; }
fi
if [ ! -s "$work/bitnet.py" ]; then
  wheels=$(mktemp -d "$work/wheel-XXXXXX")
  trap 'rm -rf "$wheels"' EXIT
  if timeout 300 "$python" -m pip download -q --disable-pip-version-check --no-deps -d "$wheels" transformers==5.24.0; then
    "$python" -m zipfile -e "$wheels"/transformers-*.whl "$wheels"
    cp "$wheels/transformers/integrations/bitnet.py" "$work/bitnet.py"
  else
    not_tested "the Python package transformers cannot be had here"
  fi
fi
if [ ! -s "$work/converter.py" ]; then
  repository=$work/BitNet
  git init -q --bare "$repository"
  GIT_TERMINAL_PROMPT=0 timeout 120 git -C "$repository" fetch -q --depth 1 "$sources/microsoft/BitNet" "$commit" || true
  git -C "$repository" show "$commit:utils/convert-hf-to-gguf-bitnet.py" >"$work/converter.py" 2>/dev/null ||
    { rm -f "$work/converter.py"; not_tested "microsoft/BitNet's converter cannot be had from $sources"; }
fi
"$python" published_converters.py "$work" "$program"
exit $skipped
