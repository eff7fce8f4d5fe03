#!/bin/sh
# Writes what Debian wants in /usr/share/doc: the licence in its machine-readable form, and the changelogs.
# Usage: debian_docs.sh VERSION MAINTAINER FOLDER; the date is SOURCE_DATE_EPOCH's.
set -eu
version=$1 maintainer=$2 folder=$3
cd "$(dirname "$0")/.."
{
  printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: gpuready\n\n'
  printf 'Files: *\nCopyright: %s\nLicense: Expat\n' "$(sed -n 's/^Copyright (c) //p' LICENSE)"
  sed -n '/^Permission/,$p' LICENSE | sed 's/^$/./; s/^/ /'
} >"$folder/copyright"
printf 'gpuready (%s) unstable; urgency=medium\n\n  * changelog.gz has the changes.\n\n -- %s  %s\n' "$version" \
  "$maintainer" "$(date -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9nc >"$folder/changelog.Debian.gz"
gzip -9nc CHANGELOG.md >"$folder/changelog.gz"
