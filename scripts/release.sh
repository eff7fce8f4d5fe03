#!/usr/bin/env bash
# Makes a release in one folder, from build/release and, where it can be made, build/aarch64: for each machine a
# tarball, a Python wheel, .deb, .rpm and an npm package; then one OCI image of both, the bill of materials
# (CycloneDX) and SHA256SUMS, signed with minisign if GPUREADY_RELEASE_KEY names the private half of packaging/release.pub.
# The same commit gives the same bytes. Their time is the commit's; without a commit, SOURCE_DATE_EPOCH.
# Usage: scripts/release.sh [--built] [--x86-64] [KIND...]     into build/dist
# --built: nothing is compiled; --x86-64: nothing for aarch64
# KIND: tarball, wheel, deb, rpm, npm, image (default: all that can be made here)
set -euo pipefail
usage() { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; }
folder=${GPUREADY_DIST:-build/dist} built='' both=1 kinds=() platforms=()
say() { echo "release: $*" >&2; }
for word in "$@"; do
  case $word in
    -h | --help) usage; exit ;;
    --built) built=1 ;;
    --x86-64) both='' ;;
    tarball | wheel | deb | rpm | npm | image) kinds+=("$word") ;;
    *) say "\"$word\" is not a kind; tarball, wheel, deb, rpm, npm and image are"; exit 2 ;;
  esac
done
cd "$(dirname "${BASH_SOURCE[0]}")/.."
key=${GPUREADY_RELEASE_KEY:-} public=${GPUREADY_RELEASE_PUBLIC:-packaging/release.pub}
if [ -n "$key" ]; then
  [ -r "$key" ] || { say "GPUREADY_RELEASE_KEY: $key cannot be read"; exit 2; }
  [ -r "$public" ] || { say "$public, the public half of $key, is missing: docs/releasing.md says how to make both"; exit 2; }
  command -v minisign >/dev/null || { say "minisign is missing: install its package"; exit 2; }
fi
other=$(find "$folder" ! -type d ! -name 'gpuready[-_]*' ! -name 'SHA256SUMS*' -print -quit 2>/dev/null) || true
[ -z "$other" ] || { say "$other is not of a release, and would be deleted: GPUREADY_DIST must name a folder of its own"; exit 2; }
[ -z "$(git status --porcelain 2>/dev/null)" ] ||
  say "changes that are not committed go into the packages: their bytes are not the commit's"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
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
      image)
        if base_of_image "$2" "$base"; then platforms+=(--platform "$2" "$stage" "$base")
        elif [ $? = 77 ]; then say "so no image for $2"
        else say "the base of the image for $2 cannot be made"; exit 1; fi ;;
      *) artefact "$kind" "$2" --stage "$stage" ;;
    esac
  done
}
artefact() {  # artefact KIND MACHINE OPTION...
  python3 packaging/artefacts.py "$1" --out "$folder" --version "$version" --machine "$2" --epoch "$SOURCE_DATE_EPOCH" "${@:3}"
}
base_of_image() {  # Debian's libc6 and nothing else
  local architecture=amd64
  [ "$1" = x86_64 ] || architecture=arm64
  scripts/debian_packages.sh "$2" bookworm $architecture libc6
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
    install -m644 LICENSE "$root/usr/share/doc/gpuready/"
  fi
  find "$root" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
  name=$(GPUREADY_VERSION=$version GPUREADY_MACHINE=$2 GPUREADY_ROOT=$root GPUREADY_SOURCE=$PWD \
         cpack -G "${1^^}" --config packaging/cpack.cmake -B "$work/cpack-$1-$2" | sed -n 's/.*package: \(.*\) generated.*/\1/p')
  mv "$name" "$folder/"
  echo "$folder/$(basename "$name")"
}

pack build/release "$(uname -m)" strip
if [ -n "$both" ] && [ "$(uname -m)" = x86_64 ]; then
  if [ -n "$built" ] || scripts/aarch64.sh gpuready gpuready-guest gpuready_shared; then
    pack build/aarch64 aarch64 aarch64-linux-gnu-strip
  else
    [ $? = 77 ] && say "without packages for aarch64" || exit 1
  fi
fi
[ ${#platforms[@]} -eq 0 ] || artefact image "$(uname -m)" "${platforms[@]}"
artefact sbom "$(uname -m)"
(cd "$folder" && sha256sum -- * >"$work/sums" && mv "$work/sums" SHA256SUMS)
if [ -n "$key" ]; then
  minisign -S -s "$key" -m "$folder/SHA256SUMS" -t "gpuready $version" >&2
  minisign -Vqm "$folder/SHA256SUMS" -p "$public" ||
    { rm "$folder/SHA256SUMS.minisig"; say "$key is not the private half of $public"; exit 2; }
else
  say "SHA256SUMS is not signed: GPUREADY_RELEASE_KEY is not set"
fi
