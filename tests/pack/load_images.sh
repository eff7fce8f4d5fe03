#!/usr/bin/env bash
# Makes device code of many kinds from our own PTX, for tests/pack/real_loads.py on a machine with a GPU:
#   tests/pack/load_images.sh FOLDER
# Needs clang, build/ptxas (scripts/ptxas.sh) and FATBINARY, the tool of that name of a CUDA 13 toolkit.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder=$1 fatbinary=${FATBINARY:-/usr/local/cuda/bin/fatbinary}
mkdir -p "$folder"
${CLANG:-clang-19} -x cuda --cuda-device-only --cuda-path=/nonexistent -nocudainc -nocudalib --cuda-gpu-arch=sm_50 \
  -Xclang -target-feature -Xclang +ptx60 -std=c++17 -O3 -S examples/pack/ternary_dot.cu -o "$folder/base.ptx"

machine_code() { "build/ptxas/$1/ptxas" -arch="sm_$2" "$folder/base.ptx" -o "$folder/sm_$2.cubin"; }
for name in 50 52 53 60 61 62 70 72; do machine_code 12 $name; done
for name in 75 80 86 87 88 89 90 90a 100 100a 100f 103 103a 103f 110 110a 110f 120 120a 120f 121 121a 121f; do
  machine_code 13 $name
done

text() { # FILE ISA TARGET: the same text of another version, for another target
  sed -e "s/^\.version.*/.version $2/" -e "s/^\.target.*/.target sm_$3/" "$folder/base.ptx" >"$folder/$1.ptx"
}
while read -r isa targets; do
  for target in $targets; do text "compute_$target" "$isa" "$target"; done
done <<'END'
6.0 50 52 53 60 61 62
6.3 70 72 75
7.1 80 86
7.4 87
8.0 89 90 90a
8.7 100 100a 120 120a
8.8 100f 103 103a 103f 120f 121 121a
9.0 88 110 110a
END
for isa in 6.0 7.0 8.0 8.8 9.0 9.1 9.2 9.3 10.0; do text "isa_$isa" $isa 60; done

container() { # NAME elf:ARCH ptx:ARCH ...
  local images=() part
  for part in "${@:2}"; do
    local architecture=${part#*:}
    case $part in
      elf:*) images+=("--image3=kind=elf,sm=$architecture,file=$folder/sm_$architecture.cubin") ;;
      ptx:*) images+=("--image3=kind=ptx,sm=$architecture,file=$folder/compute_$architecture.ptx") ;;
    esac
  done
  "$fatbinary" -64 --create="$folder/$1.fatbin" "${images[@]}"
}
container legacy elf:50 elf:60 elf:61 elf:70 elf:72
container modern elf:75 elf:80 elf:86 elf:87 elf:88
container latest elf:89 elf:90 elf:100 elf:103 elf:110 elf:120 elf:121 ptx:121
container machine_code_80_90 elf:80 elf:90
container machine_code_86_89 elf:86 elf:89
container machine_code_90a elf:90a
container machine_code_100f_103a elf:100f elf:103a
container code_86_text_80 elf:86 ptx:80
container code_100_text_100 elf:100 ptx:100
container text_90a ptx:90a
rm "$folder/base.ptx"
