#!/usr/bin/env bash
# Makes a release in one folder, from build/release and, where it can be made, build/aarch64: for each machine a
# tarball, a Python wheel, .deb, .rpm, an npm package and an OCI image; then the bill of materials (CycloneDX) and
# SHA256SUMS, signed with minisign if GPUREADY_RELEASE_KEY names a key of `gpuready pack key --no-password`.
# The same commit gives the same bytes.
# Usage: scripts/release.sh [--built] [KIND...]     into build/dist; --built: nothing is compiled, and only x86-64 packed
# KIND: tarball, wheel, deb, rpm, npm, image (default: all that can be made here)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=${GPUREADY_DIST:-build/dist} built=
[ "${1:-}" != --built ] || { built=1; shift; }
kinds=("$@")
say() { echo "release: $*" >&2; }
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
version=$(sed -n 's/^project(gpuready VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ -z "$built" ]; then
  [ -f build/release/build.ninja ] || scripts/build.sh release gpuready -- -DGPUREADY_TESTS=OFF
  scripts/build.sh release gpuready gpuready-guest gpuready_shared
fi
if [ ${#kinds[@]} -eq 0 ]; then
  kinds=(tarball wheel deb npm image)
  if command -v rpmbuild >/dev/null; then kinds+=(rpm); else say "no rpmbuild here, so no .rpm"; fi
fi
rm -rf "$folder"
mkdir -p "$folder"
folder=$(realpath "$folder")

pack() {  # pack BUILD MACHINE STRIP: every kind for this machine
  local stage=$work/$2/usr/local kind base=$work/base-$2 file
  cmake --install "$1" --prefix "$stage" --component program >/dev/null
  cmake --install "$1" --prefix "$stage" --component library >/dev/null
  for file in "$stage"/bin/* "$stage"/lib/*.so.*; do
    if [ -f "$file" ] && [ ! -L "$file" ]; then "$3" "$file"; fi
  done
  STRIP=$3 scripts/check_binary.sh "$stage/bin/gpuready"
  artefact notices "$2" --out "$stage/share/doc/gpuready" >/dev/null
  for kind in "${kinds[@]}"; do
    case $kind in
      deb | rpm) installer "$kind" "$2" "$stage" ;;
      image) base_of_image "$2" "$base" && artefact image "$2" --stage "$stage" --base "$base" ;;
      *) artefact "$kind" "$2" --stage "$stage" ;;
    esac
  done
}
artefact() {  # artefact KIND MACHINE OPTION...
  python3 packaging/artefacts.py "$1" --out "$folder" --version "$version" --machine "$2" --epoch "$SOURCE_DATE_EPOCH" "${@:3}"
}
base_of_image() {  # Debian's libc6 and nothing else
  local architecture=amd64 code=0
  [ "$1" = x86_64 ] || architecture=arm64
  scripts/debian_packages.sh "$2" bookworm $architecture libc6 || code=$?
  [ $code = 77 ] && { say "so no image"; return 1; }
  return $code
}
installer() {  # installer deb|rpm MACHINE STAGE: the program without the library, as a distribution has it
  local root=$work/root-$1-$2 name
  mkdir -p "$root/usr/share/doc/gpuready" "$root/usr/lib" "$root/var/lib/gpuready"
  cp -r "$3/bin" "$root/usr/"
  cp -r "$3/lib/systemd" "$root/usr/lib/"
  cp -r "$3"/share/{man,bash-completion,fish,zsh,gpuready} "$root/usr/share/"
  cp "$3/share/doc/gpuready/THIRD-PARTY.txt" "$root/usr/share/doc/gpuready/"
  gzip -9n "$root"/usr/share/man/man1/*
  if [ "$1" = deb ]; then
    mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"
    packaging/debian_docs.sh "$version-1" "$(sed -n 's/^set(CPACK_PACKAGE_CONTACT "\(.*\)")/\1/p' packaging/cpack.cmake)" "$root/usr/share/doc/gpuready"
    install -Dm644 packaging/lintian-overrides "$root/usr/share/lintian/overrides/gpuready"
  else
    cp LICENSE "$root/usr/share/doc/gpuready/"
  fi
  find "$root" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
  name=$(GPUREADY_VERSION=$version GPUREADY_MACHINE=$2 GPUREADY_ROOT=$root GPUREADY_SOURCE=$PWD \
         cpack -G "${1^^}" --config packaging/cpack.cmake -B "$work/cpack-$1-$2" | sed -n 's/.*package: \(.*\) generated.*/\1/p')
  mv "$name" "$folder/"
  echo "$folder/$(basename "$name")"
}

pack build/release "$(uname -m)" strip
if [ -z "$built" ] && [ "$(uname -m)" = x86_64 ]; then
  if scripts/aarch64.sh gpuready gpuready-guest gpuready_shared; then
    pack build/aarch64 aarch64 aarch64-linux-gnu-strip
  else
    [ $? = 77 ] && say "without packages for aarch64" || exit 1
  fi
fi
artefact sbom "$(uname -m)"
(cd "$folder" && sha256sum -- * >"$work/sums" && mv "$work/sums" SHA256SUMS)
if [ -n "${GPUREADY_RELEASE_KEY:-}" ]; then
  minisign -S -W -s "$GPUREADY_RELEASE_KEY" -m "$folder/SHA256SUMS" -t "gpuready $version" >/dev/null
else
  say "SHA256SUMS is not signed: GPUREADY_RELEASE_KEY names no key"
fi
