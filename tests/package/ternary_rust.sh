#!/usr/bin/env bash
# The Rust crate against the library: its tests and documents without warnings, the library named by the variable and
# found by pkg-config, and what a build without a library says. Usage: ternary_rust.sh SOURCE LIBRARY WORK_FOLDER;
# exit 77 without cargo.
set -euo pipefail
command -v cargo >/dev/null || { echo "not tested: no cargo here (scripts/setup.sh --full installs it)"; exit 77; }
source=$(realpath "$1") library=$(realpath -s "$2")
mkdir -p "$3"
work=$(realpath "$3")
fail() { echo "ternary_rust: $*" >&2; exit 1; }
cmp "$source/LICENSE" "$source/bindings/rust/LICENSE"
rm -rf "$work/crate" "$work/prefix"
cp -r "$source/bindings/rust" "$work/crate"
cd "$work/crate"
export CARGO_TARGET_DIR=$work/target RUSTFLAGS="-D warnings" RUSTDOCFLAGS="-D warnings"

said=$(GPUREADY_TERNARY_LIBRARY=$work/none.so cargo build --offline 2>&1) && fail "built without a library"
grep -q "GPUREADY_TERNARY_LIBRARY names $work/none.so: No such file" <<<"$said" || fail "a missing file is not named: $said"
said=$(PKG_CONFIG=false cargo build --offline 2>&1) && fail "built without a library"
grep -q "set GPUREADY_TERNARY_LIBRARY to the file" <<<"$said" || fail "no cure: $said"

export GPUREADY_TERNARY_DEVICE=cpu
GPUREADY_TERNARY_LIBRARY=$library cargo test --offline --quiet
GPUREADY_TERNARY_LIBRARY=$library cargo doc --offline --quiet
command -v pkg-config >/dev/null || exit 0
folder=$(dirname "$library") name=$(basename "${library%%.so*}")
mkdir -p "$work/prefix/lib/pkgconfig"
cp -P "$folder/$name".so* "$work/prefix/lib/"
cp "$folder/../package/${name#lib}.pc" "$work/prefix/lib/pkgconfig/"
said=$(PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig cargo run --offline --quiet --example ternary)
echo "$said"
grep -q '^product: -42 -43 85, from [0-9]* saved bytes$' <<<"$said"
grep -q '^half a header: .*packed weights begin with a header of 64 bytes' <<<"$said"
