#!/usr/bin/env bash
# Installs what building (and with --tests, testing) needs, from Debian's own packages. Quick when all
# is there. Usage: scripts/setup.sh [--tests]
set -euo pipefail

packages=(
  cmake ninja-build g++ ccache            # build
  clang-19                                # device code (PTX, GCN) and the sanitizer build
  lld-19                                  # links the device code for AMD's GPUs
  glslang-tools                           # device code (SPIR-V, from GLSL)
  zstd                                    # packs the embedded device code
  nlohmann-json3-dev libcli11-dev libfmt-dev libarchive-dev libzstd-dev
  libvulkan-dev pci.ids
)
if [ "${1:-}" = --tests ]; then
  packages+=(
    libgtest-dev libclang-rt-19-dev clang-format-19 clang-tidy-19 binutils
    python3 python3-jsonschema python3-venv jq
    libvulkan1 mesa-vulkan-drivers        # llvmpipe, the Vulkan stand-in without a GPU
    spirv-tools                           # validates the embedded SPIR-V
    g++-aarch64-linux-gnu qemu-user       # the ternary kernels' ARM tiers
    pkgconf                               # finds the installed library
  )
fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
  echo "setup: these packages are missing and there is no apt-get here to install them: ${missing[*]}" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "setup: run as root, or install sudo, to install: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "setup: installing ${missing[*]}" >&2
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
