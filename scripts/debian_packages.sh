#!/usr/bin/env bash
# Unpacks packages of another release or architecture of this system, Debian or Ubuntu, into a folder; nothing is
# installed. They come from where this system's own packages come from. Quick when they are there.
# Usage: scripts/debian_packages.sh FOLDER SUITE ARCHITECTURE PACKAGE...
#        scripts/debian_packages.sh --mirror    prints where they come from
# Exit 77: another system, or no such suite can be had here.
set -euo pipefail
folder=$1
if [ "$folder" != --mirror ]; then suite=$2 architecture=$3; shift 3; fi
wanted="${suite:-} ${architecture:-} $*"
[ "$(cat "$folder.packages" 2>/dev/null)" != "$wanted" ] || exit 0
origin=Debian keys=/usr/share/keyrings/debian-archive-keyring.gpg components=main
[ -e $keys ] && grep -qx ID=debian /etc/os-release ||
  origin=Ubuntu keys=/usr/share/keyrings/ubuntu-archive-keyring.gpg components="main universe"
command -v apt-get >/dev/null && [ -e $keys ] || { echo "debian_packages: this is neither Debian nor Ubuntu"; exit 77; }
from=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(COMPONENT)' 'Created-By: Packages' |
       awk -v origin=$origin '$2 == origin && $3 == "main" && $1 !~ /security/ { print $1; exit }')
[ -n "$from" ] || { echo "debian_packages: no source of $origin's packages is set up for apt here"; exit 77; }
[ "$folder" != --mirror ] || { echo "$from"; exit 0; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists/partial,archives/partial,debs}
echo "deb [signed-by=$keys] $from $suite $components" >"$work/sources.list"
options=(-qq -o APT::Architecture="$architecture" -o APT::Architectures="$architecture"
  -o Dir::State="$work" -o Dir::State::lists="$work/lists" -o Dir::State::status=/dev/null
  -o Dir::Cache="$work" -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
  -o Acquire::Languages=none -o APT::Sandbox::User=root)
apt-get "${options[@]}" update || { echo "debian_packages: $origin's $suite cannot be had here"; exit 77; }
(cd "$work/debs" && apt-get "${options[@]}" download "$@")
rm -rf "$folder"
mkdir -p "$folder"
for package in "$work"/debs/*.deb; do dpkg-deb -x "$package" "$folder"; done
echo "$wanted" >"$folder.packages"
