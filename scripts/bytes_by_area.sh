#!/usr/bin/env bash
# Which part of the program takes how many bytes of the file, from the linker's map.
# Usage: scripts/bytes_by_area.sh MAP
set -euo pipefail
awk '
  function area(file) {
    if (match(file, /gpuready_(ptx|hip|spirv|pci_ids)/)) return "embedded " substr(file, RSTART + 9, RLENGTH - 9)
    if (match(file, /libgpuready_[a-z_]+\.a/)) return substr(file, RSTART + 12, RLENGTH - 14)
    if (match(file, /lib[A-Za-z0-9_+-]+\.a/)) return substr(file, RSTART, RLENGTH - 2)
    return "main, start, run time"
  }
  function add(size, file) { bytes[area(file)] += size; total += size }
  /^Linker script and memory map/ { inside = 1 }
  !inside { next }
  /^\.?[a-z_]/ { output = $1 }
  # Not in the file: .bss, and what is neither loaded nor kept.
  output ~ /^(\.t?bss|\.debug|\.comment|\.symtab|\.strtab|\.note|\/DISCARD\/)/ { name = ""; next }
  /^ [.A-Za-z_*]/ && NF == 1 { name = $1; next }              # a long name; the figures follow
  /^ +0x[0-9a-f]+ +0x[0-9a-f]+ [^ ]/ && name != "" { if ($1 !~ /^0x0+$/) add(hex($2), $3); name = ""; next }
  /^ [.A-Za-z_]/ && $2 ~ /^0x/ && $3 ~ /^0x/ && NF >= 4 { if ($2 !~ /^0x0+$/) add(hex($3), $4); name = "" }
  function hex(text,   value, i) {
    value = 0
    for (i = 3; i <= length(text); ++i) value = value * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
    return value
  }
  END {
    for (part in bytes) printf "%10d  %s\n", bytes[part], part | "sort -rn"
    close("sort -rn")
    printf "%10d  in all\n", total
  }' "$1"
