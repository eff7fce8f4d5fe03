#!/bin/sh
# Assembles every PTX image for every architecture that loads it, so that none fails at a user's.
#   assemble.sh current|legacy FILE=ARCH...
# current: sm_75 and newer, by ptxas of CUDA 13 (scripts/ptxas.sh's, else on PATH or in /usr/local/cuda).
# legacy:  sm_50 to sm_72, which CUDA 13 dropped, by ptxas 12.9 (scripts/ptxas.sh's, or
#          $GPUREADY_PTXAS_12).
# Exits with 77, skipped, when that assembler is not there.
# An image that passed is not assembled again until it, the assembler or this script changes.
set -eu
tier=$1
shift

fetched=$(dirname "$0")/../../build/ptxas  # by scripts/ptxas.sh

case $tier in
current)
  targets='75 80 86 87 88 89 90 100 103 110 120 121'
  ptxas=$fetched/13/ptxas
  [ -x "$ptxas" ] || ptxas=$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)
  ;;
legacy)
  targets='50 52 53 60 61 62 70 72'
  ptxas=${GPUREADY_PTXAS_12:-$fetched/12/ptxas}
  ;;
*)
  echo "unknown tier $tier" >&2
  exit 2
  ;;
esac
if [ -z "$ptxas" ] || [ ! -x "$ptxas" ]; then
  echo "skipped: no ptxas for the $tier architectures"
  exit 77
fi
[ $# -gt 0 ] || { echo 'no images given' >&2; exit 2; }

output=$(mktemp)
trap 'rm -f "$output"' EXIT
passed=$fetched/passed
mkdir -p "$passed"
script=$(sha256sum <"$0")$("$ptxas" --version)
assembled=0
known=0
failed=0
assemble() {
  # Matrix products hold their sums in registers: with some of them in memory they are right and slow.
  spills=
  case $1 in *ternary_mma*|*ternary_wgmma*) spills=--warn-on-spills ;; esac
  key=$(echo "$script $2 $(sha256sum <"$1")" | sha256sum | cut -c1-32)
  if [ -e "$passed/$key" ]; then known=$((known + 1)); return; fi
  if said=$("$ptxas" $spills -arch="$2" "$1" -o "$output" 2>&1); then
    # wgmma that ptxas serialises is right and slow: a burn that is none.
    case $said in
      *serialized*|*spilled*) ;;
      *) assembled=$((assembled + 1)); : >"$passed/$key"; return ;;
    esac
  fi
  echo "$said" >&2
  echo "FAILED: $1 for $2" >&2
  failed=$((failed + 1))
}

# An architecture loads the newest image of a name that is not newer than itself.
superseded() { # FILE ARCH TARGET IMAGES...
  prefix=${1%_sm_*} own=$2 at=$3
  shift 3
  for other in "$@"; do
    newer=${other##*=sm_}
    case $other in
    *a) ;;
    "$prefix"_sm_*) [ "$newer" -le "$own" ] || [ "$newer" -gt "$at" ] || return 0 ;;
    esac
  done
  return 1
}

for image in "$@"; do
  file=${image%=*}
  arch=${image##*=sm_}
  [ -s "$file" ] || { echo "FAILED: $file is missing or empty" >&2; exit 1; }
  case $arch in
  *a) # an exact target: that one alone
    case " $targets " in *" ${arch%a} "*) assemble "$file" "sm_$arch" ;; esac
    ;;
  *)
    for target in $targets; do
      [ "$target" -lt "$arch" ] || superseded "$file" "$arch" "$target" "$@" || assemble "$file" "sm_$target"
    done
    ;;
  esac
done
echo "$tier: $assembled assembled, $known known to pass, $failed failed, by $ptxas"
[ "$failed" -eq 0 ]
