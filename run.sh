#!/usr/bin/env bash
# Sets up, builds and runs `gpuready check` on this machine. Arguments go to gpuready:
#   ./run.sh                  is every GPU here ready?
#   ./run.sh doctor           any other command
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
scripts/setup.sh
[ -f build/release/build.ninja ] || cmake --preset release -DGPUREADY_TESTS=OFF >/dev/null
ninja -C build/release --quiet gpuready
exec build/release/src/gpuready "$@"
