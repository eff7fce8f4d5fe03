#!/usr/bin/env bash
# Scripts that people start say how they are used, and a word that they do not know starts nothing.
# Usage: usage.sh SOURCE
set -euo pipefail
cd "$1"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export GPUREADY_DIST=$folder/dist
mkdir "$GPUREADY_DIST"
: >"$GPUREADY_DIST/kept"
fail() { echo "usage: $*" >&2; exit 1; }
run() {  # run EXIT COMMAND...
  local want=$1 got=0
  shift
  timeout 5 "$@" >"$folder/said" 2>&1 </dev/null || got=$?
  [ "$got" = "$want" ] || fail "exit $got instead of $want: $*: $(tail -n 3 "$folder/said")"
}
for script in release build setup lint format aarch64; do
  for help in -h --help; do
    run 0 bash scripts/$script.sh $help
    grep -q "Usage: scripts/$script.sh" "$folder/said" || fail "$script.sh $help does not say how it is used"
  done
  run 2 bash scripts/$script.sh --no-such-option
done
run 2 bash scripts/build.sh
run 2 bash scripts/release.sh --built wheel wheels
grep -qF '"wheels" is not a kind' "$folder/said" || fail "the unknown kind is not named"
[ -e "$GPUREADY_DIST/kept" ] || fail "a release was begun"
run 2 bash scripts/release.sh --built tarball
grep -qF "$GPUREADY_DIST/kept is not of a release" "$folder/said" || fail "another folder than a release's would be deleted"
rm "$GPUREADY_DIST/kept"
run 2 env GPUREADY_RELEASE_KEY="$folder/none.key" bash scripts/release.sh --built tarball
grep -qF "GPUREADY_RELEASE_KEY: $folder/none.key" "$folder/said" || fail "a missing key is not named at once"
: >"$folder/release.key"
run 2 env GPUREADY_RELEASE_KEY="$folder/release.key" GPUREADY_RELEASE_PUBLIC="$folder/none.pub" bash scripts/release.sh --built tarball
grep -qF "$folder/none.pub, the public half" "$folder/said" || fail "a missing public half is not named at once"
