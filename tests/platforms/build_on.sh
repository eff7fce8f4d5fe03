#!/usr/bin/env bash
# Builds this checkout's commit on another system, from nothing, and runs it: `./run.sh check --level quick` in a root of that
# system's packages. As root, with debootstrap; takes a quarter of an hour.
#   tests/platforms/build_on.sh trixie|bookworm|noble|jammy [FOLDER]
# FOLDER (build/systems) keeps the root, so that the next time is shorter. Mounts stay in a namespace of their own.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
suite=$1
folder=$(mkdir -p "${2:-$here/build/systems}" && realpath "${2:-$here/build/systems}")
root=$folder/$suite
[ "$(id -u)" -eq 0 ] || { echo "build_on.sh: needs root, for chroot" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "build_on.sh: needs debootstrap: apt-get install debootstrap" >&2; exit 2; }
case $suite in
  jammy | noble)
    mirror=http://archive.ubuntu.com/ubuntu keys=/usr/share/keyrings/ubuntu-archive-keyring.gpg components=main,universe
    [ -e $keys ] || { echo "build_on.sh: needs Ubuntu's keys: apt-get install ubuntu-keyring" >&2; exit 2; }
    # debootstrap has one script for all of Ubuntu's releases, and not all of their names.
    script=/usr/share/debootstrap/scripts/gutsy ;;
  *)
    mirror=http://deb.debian.org/debian keys=/usr/share/keyrings/debian-archive-keyring.gpg components=main script= ;;
esac
if [ ! -e "$root/made" ]; then
  rm -rf --one-file-system "$root"
  # shellcheck disable=SC2086
  debootstrap --variant=minbase --keyring=$keys --components=$components --include=ca-certificates "$suite" "$root" $mirror $script
  if [ $components != main ]; then
    printf 'deb %s %s main universe\ndeb %s %s-updates main universe\n' $mirror "$suite" $mirror "$suite" >"$root/etc/apt/sources.list"
  fi
  touch "$root/made"
fi
rm -rf "$root/root/gpuready"
git clone -q "$here" "$root/root/gpuready"
# dpkg writes to a pseudo terminal.
exec unshare --mount --pid --fork --propagation private chroot "$root" /bin/bash -euc '
  mount -t proc proc /proc
  mkdir -p /dev/pts && mount -t devpts devpts /dev/pts -o newinstance,ptmxmode=0666
  cd /root/gpuready
  export CCACHE_DISABLE=1
  ./run.sh check --level quick || true  # whatever is found here, it was built
  build/release/src/gpuready --version
  scripts/check_binary.sh build/release/src/gpuready | tail -n 1'
