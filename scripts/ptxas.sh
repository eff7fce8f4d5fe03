#!/usr/bin/env bash
# Puts NVIDIA's assemblers into build/ptxas/{12,13}/ptxas from their packages in the Python registry:
# 12.9 is the last for sm_50 to sm_72, 13.0 knows sm_75 and newer. The tests assemble the embedded
# device code for every architecture that it claims. Quick when they are there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
fetch() {  # fetch MAJOR PACKAGE==VERSION
  local into=build/ptxas/$1
  [ -x "$into/ptxas" ] && return
  mkdir -p "$into"
  local work
  work=$(mktemp -d)
  trap 'rm -rf "$work"' RETURN
  [ -x build/ptxas/venv/bin/pip ] || python3 -m venv build/ptxas/venv
  build/ptxas/venv/bin/pip download -q --no-deps -d "$work" "$2"
  python3 - "$work" "$into" <<'PY'
import pathlib, sys, zipfile
work, into = map(pathlib.Path, sys.argv[1:])
wheel = next(work.glob("*.whl"))
with zipfile.ZipFile(wheel) as archive:
    name = next(n for n in archive.namelist() if n.endswith("/bin/ptxas"))
    target = into / "ptxas.part"
    target.write_bytes(archive.read(name))
    target.chmod(0o755)
    target.rename(into / "ptxas")
PY
}
fetch 12 nvidia-cuda-nvcc-cu12==12.9.86
fetch 13 nvidia-cuda-nvcc==13.0.88
