#!/usr/bin/env bash
# Makes targets for aarch64 in build/aarch64, after build/release, whose device images it takes.
# Usage: scripts/aarch64.sh TARGET... ; exit 77 without the cross compiler or Debian's arm64 packages.
set -euo pipefail
usage() { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; }
case ${1:-} in
  -h | --help) usage; exit ;;
  -*) usage >&2; exit 2 ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v aarch64-linux-gnu-g++ >/dev/null || { echo "aarch64: no aarch64-linux-gnu-g++ here"; exit 77; }
scripts/debian_packages.sh build/arm64-packages bookworm arm64 libarchive-dev libzstd-dev libgtest-dev \
  libsodium-dev zlib1g-dev liblzma-dev libnghttp2-dev
scripts/build.sh aarch64 "$@"
