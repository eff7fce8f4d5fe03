#!/usr/bin/env bash
# Fetches the libraries that bench_ternary_cpu is compared with, at fixed commits, and builds each with
# its own options for this CPU and with an adapter of ours. Nothing of theirs is kept in this project.
# Usage: [MARCH=sapphirerapids] benchmarks/peers/build.sh FOLDER [SOURCES]
#   SOURCES: where clones or mirrors of them are; MARCH: for another CPU than this one
#   bench_ternary_cpu --peer FOLDER/peer_ggml.so --peer FOLDER/peer_ik.so --peer FOLDER/peer_bitnet.so
set -euo pipefail
adapters=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
sources=${2:-https://github.com}
cxx=${CXX:-g++}
march=${MARCH:-native}
instructions=(-DGGML_NATIVE=ON)  # what the libraries take them from: this CPU, or the compiler's macros
[ "$march" = native ] ||
  instructions=(-DGGML_NATIVE=OFF "-DCMAKE_C_FLAGS=-march=$march" "-DCMAKE_CXX_FLAGS=-march=$march")
cd "$folder"

fetch() {  # owner/name commit
  local name=${1#*/}
  [ ! -d "$name" ] || return 0
  git clone -q --no-checkout "$sources/$1" "$name"
  git -C "$name" checkout -q --detach "$2"
}
adapter() {  # name, then the compiler's arguments
  "$cxx" -O3 "-march=$march" -fPIC -shared -std=c++17 -o "peer_$1.so" "${@:2}"
}

fetch ggml-org/ggml d99724f2b141fed9e1a9f402213506c081433465
cmake -S ggml -B ggml/build -DCMAKE_BUILD_TYPE=Release "${instructions[@]}" -DGGML_OPENMP=OFF \
  -DGGML_BUILD_TESTS=OFF -DGGML_BUILD_EXAMPLES=OFF >/dev/null
cmake --build ggml/build -j "$(nproc)" --target ggml-cpu
adapter ggml -Iggml/include "$adapters/ggml_tq2_0.cc" -Lggml/build/src -lggml-cpu -lggml-base \
  -Wl,-rpath,"$folder/ggml/build/src"

fetch ikawrakow/ik_llama.cpp 8337e4cd3861406fc04e0854b1409cd1b027fbc9
cmake -S ik_llama.cpp -B ik_llama.cpp/build -DCMAKE_BUILD_TYPE=Release "${instructions[@]}" \
  -DGGML_OPENMP=OFF -DGGML_IQK_FLASH_ATTENTION=OFF -DLLAMA_BUILD_TESTS=OFF \
  -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_CURL=OFF -DBUILD_SHARED_LIBS=ON >/dev/null
cmake --build ik_llama.cpp/build -j "$(nproc)" --target ggml
adapter ik -Iik_llama.cpp/ggml/include -Iik_llama.cpp/ggml/src "$adapters/ik_iq2_bn.cc" \
  -Lik_llama.cpp/build/ggml/src -lggml -Wl,-rpath,"$folder/ik_llama.cpp/build/ggml/src"

# Its kernels alone, with ggml's headers: what it names of its fork of llama.cpp is not called here.
# TL2 for vectors: its products of 512 rows, unrolled, had not compiled after ten minutes.
fetch microsoft/BitNet 16da220ae2b510caff437d403288882687f44ae5
mkdir -p bitnet
sed -E '/^void ggml_bitnet_transform_tensor/,$d; s/<(8|32|128|256|512)>\(/<1>(/' \
  BitNet/preset_kernels/bitnet_b1_58-3B/bitnet-lut-kernels-tl2.h >bitnet/bitnet-lut-kernels.h
echo '#endif' >>bitnet/bitnet-lut-kernels.h
cxx=${CLANG:-clang++-19}  # which bitnet.cpp asks for
adapter bitnet -w -DGGML_BITNET_X86_TL2 '-DGGML_TYPE_I2_S=(ggml_type)36' '-DGGML_TYPE_TL2=(ggml_type)39' \
  -include immintrin.h -include cstring -include cstdlib \
  -Ibitnet -IBitNet/include -Iggml/include -Iggml/src -Iggml/src/ggml-cpu \
  BitNet/src/ggml-bitnet-mad.cpp "$adapters/bitnet_cpp.cc" \
  -Lggml/build/src -lggml-cpu -lggml-base -Wl,-rpath,"$folder/ggml/build/src"
