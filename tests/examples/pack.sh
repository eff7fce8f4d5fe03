# examples/pack, as its README says: built, published to a web server, explained, and installed from C and by CMake.
# Without NVIDIA's tools the recipe of PTX alone is built.
set -euo pipefail
source=$1 gpuready=$2 installer=$3
die() { echo "FAILED: $*" >&2; exit 1; }
for tool in clang cc python3; do command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }; done
rm -rf example home && cp -r "$source/examples/pack" example && mkdir home && export HOME=$PWD/home
cd example
find_tool() { for path in "$@"; do [ -x "$path" ] && echo "$path" && return; done; true; }
PTXAS_12=$(find_tool "${PTXAS_12:-}" "$source/build/ptxas/12/ptxas")
PTXAS_13=$(find_tool "${PTXAS_13:-}" "$source/build/ptxas/13/ptxas" /usr/local/cuda/bin/ptxas)
FATBINARY=$(find_tool "${FATBINARY:-}" /usr/local/cuda/bin/fatbinary)
recipe=pack.toml
if [ -z "$PTXAS_12" ] || [ -z "$PTXAS_13" ] || [ -z "$FATBINARY" ]; then recipe=pack-ptx.toml; fi
export PTXAS_12 PTXAS_13 FATBINARY
[ $recipe = pack.toml ] || unset FATBINARY
"$gpuready" pack key ternary-dot --no-password -q >/dev/null
"$gpuready" pack build $recipe >built.txt || die "build: $(cat built.txt)"
"$gpuready" pack publish $recipe --key ternary-dot.key --to release >/dev/null

# Each GPU that the recipe is for gets a variant that loads there.
for gpu in 5.0 6.1 7.0 7.5 8.0 8.6 8.7 8.9 9.0 10.0 10.3 11.0 12.0 12.1; do
  variant=$("$gpuready" pack select release --key ternary-dot.pub --gpu $gpu --json - | jq -r '.variants | join("+")')
  [ "$variant" != cpu ] && [ -n "$variant" ] || die "$gpu gets the variant '$variant'"
done

: >server.log
python3 -u -m http.server 0 --bind 127.0.0.1 --directory release >server.log 2>&1 &
server=$!
trap 'kill $server' EXIT
for _ in $(seq 100); do port=$(sed -n 's/.*port \([0-9]*\).*/\1/p' server.log); [ -n "$port" ] && break; sleep 0.1; done
export TERNARY_DOT_RELEASE=http://127.0.0.1:$port TERNARY_DOT_KEY=$(tail -1 ternary-dot.pub)
expected='variant (legacy|modern|latest|gpu|cpu) on the [CG]PU: 36 -36 -4'
# From C.
export GPUREADY_HELPER=$gpuready
"$installer" "$TERNARY_DOT_RELEASE" "$TERNARY_DOT_KEY" "$PWD/from-c" >installer.json || die "the C interface: $(cat installer.json)"
jq -e '.result == "installed" and .schema == "gpuready.pack-install" and .notes != []' installer.json >/dev/null || die "another document: $(cat installer.json)"
from-c/current/bin/ternary-dot | grep -qE "$expected" || die "the program of the C interface"
if "$installer" "$TERNARY_DOT_RELEASE" "RWQ" "$PWD/other" 2>/dev/null >/dev/null; then die "a key that is none was taken"; fi
if command -v cmake >/dev/null; then
  cmake -S . -B cmake-build -DGPUREADY="$gpuready" "-DTERNARY_DOT_RELEASE=$TERNARY_DOT_RELEASE" "-DTERNARY_DOT_KEY=$TERNARY_DOT_KEY" >cmake.log 2>&1 || die "CMake: $(cat cmake.log)"
  cmake --build cmake-build >>cmake.log 2>&1 || die "CMake: $(cat cmake.log)"
  cmake-build/program | grep -qE "$expected" || die "the program of CMake"
fi
