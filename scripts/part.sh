#!/usr/bin/env bash
# Prints a number below N, which the commit and NAME choose: of what takes too long to run whole, continuous integration runs
# this part. Parts of two names do not depend on each other, so in time every pair of them comes.
# Usage: scripts/part.sh NAME N
set -euo pipefail
usage() { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; }
case ${1:-} in
  -h | --help) usage; exit ;;
  '' | -*) usage >&2; exit 2 ;;
esac
[ $# = 2 ] && [[ $2 =~ ^[1-9][0-9]*$ ]] || { usage >&2; exit 2; }
commit=$(git -C "$(dirname "${BASH_SOURCE[0]}")" rev-parse HEAD 2>/dev/null) || commit=none
digits=$(printf '%s %s' "$1" "$commit" | sha256sum)
echo $((0x${digits:0:8} % $2))
