#!/usr/bin/env bash
# Makes packages from build/release, twice, and installs and uses each as a new user would. Nothing is compiled.
# Usage: installed.sh SOURCE KIND...
#   wheel    in a fresh venv, without the network        tarball   unpacked anywhere, checked by its signed sums
#   deb      lintian; unpacked over Debian 12's libc      rpm       unpacked over the same
#   root     the .deb by dpkg in a fresh Debian 12 (debootstrap; a minute), with its units
#   npm      by npm, without the network                  image     its layers over each other
# Exit 77: a tool is missing, or no namespaces can be made here.
set -euo pipefail
source=$(realpath "$1")
shift
folder=$source/build/installed-test
rm -rf --one-file-system "$folder"
mkdir -p "$folder"
fail() { echo "installed: $*" >&2; exit 1; }
skip() { echo "installed: not tested: $*"; exit 77; }
need() { command -v "$1" >/dev/null || skip "no $1 here"; }
version=$(sed -n 's/^project(gpuready VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
says() {  # says EXIT TEXT COMMAND...
  local want=$1 text=$2 got=0 said
  shift 2
  said=$("$@" 2>&1) || got=$?
  [ "$got" = "$want" ] || fail "exit $got instead of $want: $*"$'\n'"$said"
  grep -qF -- "$text" <<<"$said" || fail "$* printed no \"$text\":"$'\n'"$said"
}
machine=$source/tests/machines/driver-library-mismatch/machine.json
wrong="The kernel module is 580.95.05"
inside() {  # inside ROOT COMMAND...
  local root=$1
  mkdir -p "$root/proc" "$root/tmp" "$root/dev"
  [ -e "$root/dev/null" ] || : >"$root/dev/null"
  cp -r "$source"/tests/machines/{driver-library-mismatch,base-h100x1} "$root/tmp/"  # which extends the latter
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin unshare --mount --pid --fork --propagation private --mount-proc="$root/proc" \
    chroot "$root" "${@:2}"
}
over_libc() {  # over_libc ROOT: what was unpacked there, with Debian 12's libc6 and nothing else
  local code=0
  unshare --mount true 2>/dev/null || skip "no namespaces may be made here"
  "$source/scripts/debian_packages.sh" "$folder/libc" bookworm amd64 libc6 || code=$?
  [ $code != 77 ] || skip "no packages of Debian 12"
  [ $code = 0 ] || fail "Debian's libc6 could not be unpacked"
  cp -an "$folder/libc/." "$1/"
  says 0 "gpuready $version" inside "$1" gpuready --version
  says 1 "$wrong" inside "$1" gpuready doctor --replay /tmp/driver-library-mismatch/machine.json
  says 4 "never tested" inside "$1" gpuready status
}

kinds=()
need jq
for kind in "$@"; do
  case $kind in
    root) kinds+=(deb); need debootstrap ;;
    rpm) kinds+=(rpm); need rpmbuild; need rpm2archive ;;
    deb) kinds+=(deb); need cpack; need dpkg-deb ;;
    *) kinds+=("$kind") ;;
  esac
done
# Twice, the same bytes; signed by a key of its own.
for each in dist again; do
  GPUREADY_DIST=$folder/$each "$source/scripts/release.sh" --built "${kinds[@]}" >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
done
diff -rq "$folder/dist" "$folder/again" >&2 || fail "two releases of one build differ"
(cd "$folder/dist" && sha256sum --quiet --strict -c SHA256SUMS && ls -l) || fail "the sums are wrong"
dist=$folder/dist

# The bill of materials names the compiler's own libraries, in the version that the program's code says it has.
compiler=$(readelf -p .comment "$source/build/release/src/gpuready" | sed -n 's/.*GCC: ([A-Za-z]* \([^)]*\)).*/\1/p' | head -n 1)
for library in libstdc++ libgcc glibc; do
  listed=$(jq -r --arg name "$library" '.components[] | select(.name == $name) | .version' "$dist"/*.cdx.json)
  want=${compiler:-a version}
  [ "$library" != glibc ] || want=$(dpkg-query -W -f='${Version}' libc6-dev)
  [ "$listed" = "$want" ] || fail "the bill of materials has $library as \"$listed\" instead of $want"
done

for kind in "$@"; do
  case $kind in
    wheel)
      python3 -m venv "$folder/venv" || skip "no venv here"
      "$folder/venv/bin/pip" install -q --no-index --disable-pip-version-check "$dist"/*.whl
      says 0 "gpuready $version" "$folder/venv/bin/gpuready" --version
      MACHINE=$machine GGUF=$source/tests/cli/gguf.py "$folder/venv/bin/python" "$source/tests/package/python_wheel.py"
      [ "$(stat -c %s "$dist"/*.whl)" -le 7000000 ] || fail "the wheel is larger than 7 MB" ;;
    tarball)
      tar -xzf "$dist"/*.tar.gz -C "$folder"
      root=$(ls -d "$folder/gpuready-$version"*)
      says 1 "$wrong" "$root/bin/gpuready" doctor --replay "$machine"
      [ -x "$root/bin/gpuready-guest" ] && [ -s "$root/share/man/man1/gpuready-check.1" ] && [ -s "$root/share/doc/gpuready/LICENSE" ] &&
        [ -s "$root/lib/pkgconfig/gpuready.pc" ] && [ -s "$root/share/gpuready/adapters/torch_eager.py" ] || fail "the tarball lacks files" ;;
    deb)
      ! command -v lintian >/dev/null || lintian --fail-on error --allow-root "$dist"/*.deb || fail "lintian found errors"
      dpkg-deb -x "$dist"/*.deb "$folder/deb"
      over_libc "$folder/deb" ;;
    rpm)
      mkdir "$folder/rpm"
      rpm2archive - <"$(ls "$dist"/*.rpm)" | tar -xz -C "$folder/rpm"
      over_libc "$folder/rpm" ;;
    root)
      root=$folder/root
      debootstrap --variant=minbase --include=systemd bookworm "$root" >"$folder/log" 2>&1 || { tail "$folder/log" >&2; skip "debootstrap failed"; }
      cp "$dist"/*.deb "$root/tmp/"
      says 0 "Setting up gpuready" inside "$root" sh -c 'dpkg -i /tmp/*.deb'
      says 0 "gpuready $version" inside "$root" gpuready --version
      says 1 "$wrong" inside "$root" gpuready doctor --replay /tmp/driver-library-mismatch/machine.json
      says 0 "" inside "$root" systemd-analyze verify --man=no gpuready.service gpuready.timer
      [ -z "$(inside "$root" systemd-analyze verify --man=no gpuready.service gpuready.timer 2>&1)" ] || fail "systemd-analyze complains"
      says 0 "Removing gpuready" inside "$root" dpkg -r gpuready ;;
    npm)
      need npm
      mkdir "$folder/node"
      (cd "$folder/node" && npm init -y >/dev/null && npm install --offline --no-audit --no-fund "$dist"/*.tgz >"$folder/log" 2>&1) ||
        { cat "$folder/log" >&2; fail "npm does not install it"; }
      says 0 "gpuready $version" "$folder/node/node_modules/.bin/gpuready" --version ;;
    image)
      mkdir -p "$folder/image" "$folder/layers"
      tar -xf "$dist"/*-oci-*.tar -C "$folder/layers"
      blobs=$folder/layers/blobs/sha256
      manifest=$(jq -r '.manifests[0].digest | ltrimstr("sha256:")' "$folder/layers/index.json")
      for layer in $(jq -r '.layers[].digest | ltrimstr("sha256:")' "$blobs/$manifest"); do
        tar -xzf "$blobs/$layer" -C "$folder/image"
      done
      says 0 "gpuready $version" inside "$folder/image" /usr/bin/gpuready --version
      says 1 "$wrong" inside "$folder/image" /usr/bin/gpuready doctor --replay /tmp/driver-library-mismatch/machine.json ;;
  esac
  echo "installed: $kind works"
done
