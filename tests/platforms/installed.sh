#!/usr/bin/env bash
# Makes packages from build/release, twice, and installs and uses each as a new user would. Nothing is compiled.
# Usage: installed.sh SOURCE KIND...
#   wheel    in a fresh venv, without the network        tarball   unpacked anywhere, checked by its signed sums
#   deb      lintian; unpacked over Debian 12's libc      rpm       unpacked over the same
#   npm      by npm, without the network                  image     its layers over each other, as skopeo chooses them
#   aarch64  all of build/aarch64, unpacked over Debian 12's libc6 for arm64 and run by qemu-user
#   bullseye, bookworm, trixie: each but the .rpm in a fresh root of that Debian (debootstrap and apt; two minutes each),
#            the .deb with its units, and the image as the init container of that root
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
inside() {  # inside ROOT COMMAND...; a folder that VOLUME names is the root's /volume
  local root=$1
  mkdir -p "$root/proc" "$root/tmp" "$root/dev" "$root/volume"
  [ -e "$root/dev/null" ] || : >"$root/dev/null"
  cp -r "$source"/tests/machines/{driver-library-mismatch,base-h100x1} "$root/tmp/"  # which extends the latter
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin VOLUME="${VOLUME:-}" \
    unshare --mount --pid --fork --propagation private --mount-proc="$root/proc" \
    sh -c '[ -z "$VOLUME" ] || mount --bind "$VOLUME" "$0/volume" && exec chroot "$0" "$@"' "$root" "${@:2}"
}
over_libc() {  # over_libc ROOT: what was unpacked there, with Debian 12's libc6 and nothing else
  local code=0
  unshare --mount true 2>/dev/null || skip "no namespaces may be made here"
  "$source/scripts/debian_packages.sh" "$folder/libc" bookworm amd64 libc6 || code=$?
  [ $code != 77 ] || skip "no packages of Debian 12"
  [ $code = 0 ] || fail "Debian's libc6 could not be unpacked"
  cp -an "$folder/libc/." "$1/"
  diagnoses "$1" gpuready
  says 4 "never tested" inside "$1" gpuready status
}
diagnoses() {  # diagnoses ROOT PROGRAM
  says 0 "gpuready $version" inside "$1" "$2" --version
  says 1 "$wrong" inside "$1" "$2" doctor --replay /tmp/driver-library-mismatch/machine.json
}
unpack_image() {  # unpack_image [ARCHITECTURE]: its layers over each other, into $folder/image
  local layer architecture=${1:-amd64}
  rm -rf "$folder/image" "$folder/layers"
  mkdir -p "$folder/image"
  need skopeo
  says 0 "" skopeo --override-arch "$architecture" copy "oci-archive:$(echo "$dist"/*-oci.tar)" "dir:$folder/layers"
  says 0 "$architecture" skopeo inspect --config "dir:$folder/layers"
  for layer in $(jq -r '.layers[].digest | ltrimstr("sha256:")' "$folder/layers/manifest.json"); do
    tar -xzf "$folder/layers/$layer" -C "$folder/image"
  done
  [ "$(tar -xOf "$dist"/*-oci.tar index.json | jq -r '.manifests[].annotations["io.containerd.image.name"]')" = localhost/gpuready:latest ] ||
    fail "the image has another name than README.md says"
  [ "$(gzip -dc "$folder/layers/$layer" | wc -c)" -le 20000000 ] || fail "the image adds more than 20 MB to its base"
}
in_emulator() {  # in_emulator PROGRAM, over arm64's libc6
  says 0 "gpuready $version" qemu-aarch64 -L "$folder/arm64" "$1" --version
  says 1 "$wrong" qemu-aarch64 -L "$folder/arm64" "$1" doctor --replay "$machine"
}
on_aarch64() {
  local dist=$folder/aarch64 kind
  for kind in deb rpm tarball wheel npm; do mkdir "$dist/$kind"; done
  ! command -v lintian >/dev/null || lintian --fail-on error,warning --allow-root "$dist"/*.deb || fail "lintian found something"
  [ "$(dpkg-deb -f "$dist"/*.deb Architecture)" = arm64 ] || fail "the .deb is not for arm64"
  dpkg-deb -x "$dist"/*.deb "$dist/deb"
  [ "$(rpm -qp --qf '%{arch}' "$dist"/*.rpm)" = aarch64 ] || fail "the .rpm is not for aarch64"
  rpm2archive - <"$(ls "$dist"/*.rpm)" | tar -xz -C "$dist/rpm"
  tar -xzf "$dist"/*.tar.gz -C "$dist/tarball" --strip-components=1
  tar -xzf "$dist"/*.tgz -C "$dist/npm"
  (cd "$dist/wheel" && python3 -m zipfile -e "$dist"/*.whl . && chmod +x ./*.data/scripts/gpuready)
  dist=$folder/dist unpack_image arm64
  mv "$folder/image" "$folder/arm64"
  for program in "$folder/arm64/usr/bin" "$dist"/{deb,rpm}/usr/bin "$dist/tarball/bin" "$dist/npm/package/bin" "$dist"/wheel/*.data/scripts; do
    in_emulator "$program/gpuready"
  done
}
timed() { echo "installed: $suite: $1 after $((SECONDS - began)) s"; began=$SECONDS; }
in_debian() {  # in_debian SUITE: everything in a fresh root, as its user does it
  local suite=$1 root=$folder/$1 began=$SECONDS mirror
  mirror=$("$source/scripts/debian_packages.sh" --mirror) || skip "no mirror of Debian"
  unshare --mount --propagation private debootstrap --variant=minbase --include=systemd "$suite" "$root" "$mirror" \
    >"$folder/log" 2>&1 || { tail "$folder/log" >&2; skip "debootstrap failed"; }
  cp /etc/resolv.conf "$root/etc/"
  timed "a root by debootstrap"
  cp "$dist"/*.{deb,whl,tgz,tar.gz} "$source/tests/package/python_wheel.py" "$source/tests/cli/gguf.py" "$root/tmp/"
  says 0 "Setting up gpuready" inside "$root" sh -c 'apt-get install -y /tmp/*.deb'
  diagnoses "$root" gpuready
  says 4 "never tested" inside "$root" gpuready status
  if [ "$suite" != bullseye ]; then  # whose systemd-analyze needs a cgroup of its own, which a root does not have
    [ -z "$(inside "$root" systemd-analyze verify --man=no gpuready.service gpuready.timer 2>&1)" ] || fail "systemd-analyze complains"
  fi
  inside "$root" systemctl --quiet enable gpuready.timer gpuready-vm-hold.service
  [ -L "$root/etc/systemd/system/timers.target.wants/gpuready.timer" ] || fail "the timer was not enabled"
  inside "$root" sh -c 'gpuready check --level quick --device cpu >/dev/null; mkdir -p /var/lib/gpuready/vm; : >/var/lib/gpuready/vm/1.jsonl'
  says 0 "Removing gpuready" inside "$root" apt-get remove -y gpuready
  [ ! -e "$root/usr/bin/gpuready" ] || fail "the .deb left its program"
  [ -z "$(find "$root/etc/systemd" -name "gpuready*")" ] || fail "the .deb left units enabled"
  [ -s "$root/var/lib/gpuready/results.json" ] || fail "removing the .deb took the results"
  says 0 "Purging" inside "$root" apt-get purge -y gpuready
  [ "$(find "$root/var/lib/gpuready" "$root/var/cache/gpuready" -type f 2>/dev/null)" = "$root/var/lib/gpuready/vm/1.jsonl" ] ||
    fail "purging left results, or took the journal of virtual machines"
  timed "the .deb"
  says 0 "" inside "$root" tar -xzf "/tmp/gpuready-$version-linux-x86_64.tar.gz" -C /opt
  diagnoses "$root" "/opt/gpuready-$version-linux-x86_64/bin/gpuready"
  timed "the tarball"
  unpack_image
  diagnoses "$folder/image" /usr/bin/gpuready
  mkdir -p "$folder/volume"
  VOLUME=$folder/volume says 0 "" inside "$folder/image" /usr/bin/gpuready kubernetes copy /volume/gpuready
  VOLUME=$folder/volume diagnoses "$root" /volume/gpuready
  rm -rf "$folder/volume"
  timed "the image, and its program copied for another container"
  says 0 "" inside "$root" sh -c 'apt-get update && apt-get install -y --no-install-recommends python3-venv npm'
  timed "python3-venv and npm by apt"
  says 0 "" inside "$root" sh -c 'python3 -m venv /venv && /venv/bin/pip install -q --no-index --disable-pip-version-check /tmp/*.whl'
  diagnoses "$root" /venv/bin/gpuready
  says 0 "OK" inside "$root" env PATH=/venv/bin:/usr/bin:/bin MACHINE=/tmp/driver-library-mismatch/machine.json GGUF=/tmp/gguf.py \
    python /tmp/python_wheel.py
  timed "the wheel"
  says 0 "" inside "$root" sh -c 'mkdir /node && cd /node && npm init -y && npm install --offline --no-audit --no-fund /tmp/*.tgz'
  diagnoses "$root" /node/node_modules/.bin/gpuready
  timed "the npm package"
  rm -rf --one-file-system "$root"
}

kinds=()
need jq
for kind in "$@"; do
  case $kind in
    bullseye | bookworm | trixie) kinds+=(deb tarball wheel npm image); need debootstrap ;;
    rpm) kinds+=(rpm); need rpmbuild; need rpm2archive ;;
    aarch64) kinds+=(tarball wheel deb rpm npm image); for tool in rpmbuild rpm2archive cpack qemu-aarch64; do need $tool; done ;;
    deb) kinds+=(deb); need cpack; need dpkg-deb ;;
    *) kinds+=("$kind") ;;
  esac
done
only=(--x86-64)
[[ " $* " != *" aarch64 "* ]] || only=()
mapfile -t kinds < <(printf '%s\n' "${kinds[@]}" | sort -u)
# Twice, the same bytes, the second time from sources without git that only their owner may read; signed by a key of its own.
need minisign
(cd "$folder" && for name in release other; do "$source/build/release/src/gpuready" pack key $name --no-password >/dev/null; done)
export GPUREADY_RELEASE_KEY=$folder/release.key GPUREADY_RELEASE_PUBLIC=$folder/release.pub
mkdir "$folder/private"
(cd "$source" && cp -r CHANGELOG.md CMakeLists.txt LICENSE README.md bindings docs packaging schema scripts "$folder/private/")
chmod -R go= "$folder/private"
ln -s "$source/build" "$folder/private/build"
release() {  # release TREE OUT
  GPUREADY_DIST=$folder/$2 "$1/scripts/release.sh" --built "${only[@]}" "${kinds[@]}" >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
}
release "$source" dist
(umask 077; SOURCE_DATE_EPOCH=$(git -C "$source" log -1 --format=%ct) release "$folder/private" again)
diff -rq "$folder/dist" "$folder/again" >&2 || fail "two releases of one build differ"
(cd "$folder/dist" && minisign -Vqm SHA256SUMS -p ../release.pub && sha256sum --quiet --strict -c SHA256SUMS && ls -l) ||
  fail "the sums are wrong"
[ -z "$(find "$folder/dist" -name '*.whl' -size +7100000c)" ] || fail "a wheel is larger than 7.1 MB"
says 2 "is not the private half of $folder/other.pub" env GPUREADY_RELEASE_PUBLIC="$folder/other.pub" \
  GPUREADY_DIST="$folder/third" "$source/scripts/release.sh" --built --x86-64 npm
[ ! -e "$folder/third/SHA256SUMS.minisig" ] || fail "a signature of another key was left"
dist=$folder/dist
mkdir "$folder/aarch64"
[ ${#only[@]} -gt 0 ] || mv "$dist"/*[_.-]{aarch64,arm64}[.-]* "$folder/aarch64/"

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
      # Its RECORD would lead from there to another folder's program.
      mkdir -p "$folder/other/bin"
      printf '#!/bin/sh\necho foreign\n' >"$folder/other/bin/gpuready"
      chmod +x "$folder/other/bin/gpuready"
      "$folder/venv/bin/pip" install -q --no-index --disable-pip-version-check --target "$folder/other/lib/target" "$dist"/*.whl
      MACHINE=$machine GGUF=$source/tests/cli/gguf.py TARGET=$folder/other/lib/target WHEEL=$(echo "$dist"/*.whl) \
        "$folder/venv/bin/python" "$source/tests/package/python_wheel.py" ;;
    tarball)
      tar -xzf "$dist"/*.tar.gz -C "$folder"
      root=$(ls -d "$folder/gpuready-$version"*)
      says 1 "$wrong" "$root/bin/gpuready" doctor --replay "$machine"
      [ -x "$root/bin/gpuready-guest" ] && [ -s "$root/share/man/man1/gpuready-check.1" ] && [ -s "$root/share/doc/gpuready/LICENSE" ] &&
        [ -s "$root/lib/pkgconfig/gpuready.pc" ] && [ -s "$root/share/gpuready/adapters/torch_eager.py" ] || fail "the tarball lacks files" ;;
    deb)
      ! command -v lintian >/dev/null || lintian --fail-on error,warning --allow-root "$dist"/*.deb || fail "lintian found something"
      dpkg-deb -x "$dist"/*.deb "$folder/deb"
      over_libc "$folder/deb" ;;
    rpm)
      says 0 "Finds the GPUs of a machine" rpm -qp --qf '%{description}' "$dist"/*.rpm
      mkdir "$folder/rpm"
      rpm2archive - <"$(ls "$dist"/*.rpm)" | tar -xz -C "$folder/rpm"
      over_libc "$folder/rpm" ;;
    bullseye | bookworm | trixie) in_debian "$kind" ;;
    aarch64) on_aarch64 ;;
    npm)
      need npm
      mkdir "$folder/node"
      (cd "$folder/node" && npm init -y >/dev/null && npm install --offline --no-audit --no-fund "$dist"/*.tgz >"$folder/log" 2>&1) ||
        { cat "$folder/log" >&2; fail "npm does not install it"; }
      says 0 "gpuready $version" "$folder/node/node_modules/.bin/gpuready" --version ;;
    image)
      unpack_image
      diagnoses "$folder/image" /usr/bin/gpuready ;;
  esac
  echo "installed: $kind works"
done
