#!/bin/sh
# Packs code objects as one: a line "<target> <bytes>" for each, an empty line, then the objects in this
# order (device/hip/hip_images.cc reads it). Usage: pack.sh ZSTD OUTPUT TARGET.hsaco...
set -eu
zstd=$1 output=$2
shift 2
{
  for object in "$@"; do echo "$(basename "$object" .hsaco) $(($(wc -c <"$object")))"; done
  echo
  cat "$@"
} >"$output.raw"
"$zstd" -q -f -19 "$output.raw" -o "$output"  # of a file, so that its size is in the frame
rm "$output.raw"
