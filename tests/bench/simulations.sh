#!/usr/bin/env bash
# The simulations of docs/performance.md, whole: simulations.sh BUILD_FOLDER [COUNT [PART]]. Minutes.
set -euo pipefail
ninja -C "$1" bench_simulations >/dev/null
exec "$1/tests/bench/bench_simulations" "${@:2}"
