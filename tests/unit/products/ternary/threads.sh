#!/usr/bin/env bash
# Many threads on one engine of libgpuready-ternary, under ThreadSanitizer. Exit 77 where its runtime does not start.
# Usage: tests/unit/products/ternary/threads.sh [build folder]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../../.."
build=${1:-build/threads}
mkdir -p "$build"
cxx=${CXX:-g++}
echo 'int main() {}' > "$build/empty.cc"
# Randomised addresses can fall outside of what the runtime maps.
run=(env TSAN_OPTIONS=halt_on_error=1 setarch "$(uname -m)" -R)
{ "$cxx" -fsanitize=thread "$build/empty.cc" -o "$build/empty" && "${run[@]}" "$build/empty"; } 2>"$build/why" ||
  { echo "not tested: ThreadSanitizer does not run here: $(tail -1 "$build/why")"; exit 77; }
tests/unit/products/ternary/library.sh "$build" "$cxx" "-O1 -g1 -fsanitize=thread" surroundings
"${run[@]}" "$build/surroundings" threads
