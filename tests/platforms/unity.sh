#!/usr/bin/env bash
# cmake/unity.awk puts no sources together that could see each other's private names. Usage: unity.sh SOURCE
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
source_of() { printf '%s\n' 'namespace gpuready {' 'namespace {' "${@:2}" '}  // namespace' '}  // namespace gpuready' >"$1.cc"; }
source_of a 'int twice(int x) { return 2 * x; }' 'constexpr int kMost = 3;' 'struct Row {' '  int cells;' '};'
source_of b 'int thrice(int x) { return 3 * x; }'
source_of c 'int twice(int x) { return x + x; }'
source_of d 'int other() { return twice(4); }'       # another twice(), of a header
source_of e 'int member(Table& table) { return table.twice(4); }'
source_of f 'constexpr int kMost[] = {1};'
source_of g 'struct Row {' '  long cells;' '};'
source_of h 'TEST(Suite, Name) {' '}'
source_of i 'TEST(Suite, Name) {' '}'
source_of j 'TEST(Suite, Other) {' '}'
printf 'using namespace other;\n' >k.cc
source_of l 'struct Choice {' '};'
source_of m 'int cells(Row& row);'                    # another Row, of a header
source_of n 'struct Level {' '};'                      # a name of a header of another namespace
source_of o 'int depth(Level& level);'
printf '%s\n' 'namespace gpuready {' 'struct Choice {' '  int value;' '};' '}  // namespace gpuready' >choice.h
printf '%s\n' 'namespace gpuready::far {' 'struct Level {};' '}  // namespace gpuready::far' >level.h
awk -v headers=1 -f "$1/cmake/unity.awk" choice.h level.h >names
batches=$(awk -v size=20 -v public=names -f "$1/cmake/unity.awk" ./*.cc)
batch() { awk -v file="./$1.cc" '$2 == file { print $1 }' <<<"$batches"; }
expect() {  # expect A ==|!= B
  local same="!="
  [ "$(batch "$1")" != "$(batch "$3")" ] || same="=="
  [ "$same" = "$2" ] || { echo "unity: $1 and $3 must be $2:"$'\n'"$batches" >&2; exit 1; }
}
expect a == b
expect a '!=' c
expect a '!=' d
expect a == e
expect a '!=' f
expect a '!=' g
expect h '!=' i
expect h == j
expect k '!=' a
expect l '!=' b
expect a '!=' m
expect n == b
expect n '!=' o
[ "$(awk -v size=2 -f "$1/cmake/unity.awk" a.cc b.cc e.cc | awk '{ n[$1]++ } END { for (b in n) if (n[b] > 2) print b }')" = "" ] ||
  { echo "unity: a batch is larger than asked" >&2; exit 1; }
