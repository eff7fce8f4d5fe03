#!/usr/bin/env bash
# Builds one variant of the library: `gpuready pack build` runs it with PACK_VARIANT, PACK_FOLDER and
# CUDAARCHS ("75-real;86-real;90") set. clang makes PTX; ptxas makes machine code of it where an
# architecture is not "-virtual". PTXAS_12 and PTXAS_13 name the assemblers of CUDA 12.9, the last for
# sm_50 to sm_72, and 13.0; FATBINARY names the tool that puts the pieces together (all three are in
# NVIDIA's packages nvidia-cuda-nvcc-cu12 and nvidia-cuda-nvcc of the Python registry).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
work=$PACK_FOLDER/../work-$PACK_VARIANT
rm -rf "$PACK_FOLDER" "$work"
mkdir -p "$PACK_FOLDER/bin" "$PACK_FOLDER/lib" "$work"
code=()
if [ -n "$CUDAARCHS" ]; then
  ${CLANG:-clang} -x cuda --cuda-device-only --cuda-path=/nonexistent -nocudainc -nocudalib \
    --cuda-gpu-arch=sm_50 -Xclang -target-feature -Xclang +ptx60 -std=c++17 -O3 -S ternary_dot.cu -o "$work/sm_50.ptx"
  images=()
  for architecture in ${CUDAARCHS//;/ }; do
    number=${architecture%%-*}
    if [[ $architecture != *-real ]]; then
      # The same text under another target, of the PTX version that knows it.
      case $number in 5?|6?) isa=6.0 ;; 7?) isa=6.3 ;; 8?) isa=7.8 ;; 90) isa=8.0 ;; 100|120) isa=8.7 ;; *) isa=8.8 ;; esac
      sed -e "s/^\.version.*/.version $isa/" -e "s/^\.target.*/.target sm_$number/" "$work/sm_50.ptx" >"$work/$number.ptx"
      images+=("--image3=kind=ptx,sm=$number,file=$work/$number.ptx")
    fi
    case $architecture in *-virtual) continue ;; esac
    assembler=${PTXAS_13:?CUDA 13, or recipes with -virtual architectures alone}
    [ "${number%[af]}" -ge 75 ] || assembler=${PTXAS_12:?CUDA 12.9 makes code below sm_75}
    "$assembler" -arch="sm_$number" "$work/sm_50.ptx" -o "$work/$number.cubin"
    images+=("--image3=kind=elf,sm=$number,file=$work/$number.cubin")
  done
  if [ -n "${FATBINARY:-}" ]; then
    "$FATBINARY" -64 --create="$work/all.fatbin" "${images[@]}"
    code=("-DTERNARY_FATBIN=\"$work/all.fatbin\"")
  else
    code=("-DTERNARY_FATBIN=\"$work/sm_50.ptx\"")  # the driver compiles it for every GPU
  fi
fi
${CC:-cc} -O2 -fPIC -shared -fvisibility=default "-DTERNARY_VARIANT=\"$PACK_VARIANT\"" "${code[@]}" \
  -Wl,-soname,libternary_dot.so.1 -Wl,--no-undefined ternary_dot.c -ldl -o "$PACK_FOLDER/lib/libternary_dot.so.1"
ln -s libternary_dot.so.1 "$PACK_FOLDER/lib/libternary_dot.so"
${CC:-cc} -O2 program.c "$PACK_FOLDER/lib/libternary_dot.so.1" -Wl,-rpath,'$ORIGIN/../lib' -o "$PACK_FOLDER/bin/ternary-dot"
