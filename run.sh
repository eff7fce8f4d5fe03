#!/usr/bin/env bash
# Sets up, builds and runs `gpuready check` on this machine. Arguments go to gpuready:
#   ./run.sh                  is every GPU here ready?
#   ./run.sh doctor           any other command
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
scripts/setup.sh
first=()
[ -f build/release/build.ninja ] || first=(-- -DGPUREADY_TESTS=OFF)
scripts/build.sh release gpuready gpuready-guest "${first[@]}"
exec build/release/src/gpuready "$@"
