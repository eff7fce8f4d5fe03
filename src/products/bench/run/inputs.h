// The inputs that every stack gets. Each tensor has a stream of bytes that follows from the seed
// and the tensor's number alone: byte i is byte i % 8, least significant first, of the output i / 8
// of SplitMix64 begun with seed * 256 + number. adapters/gpuready_bench.py makes the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/run/request.h"

namespace gpuready::bench {

enum class InputStream : unsigned {
  x = 1,
  w1 = 2,
  b1 = 3,
  w2 = 4,
  b2 = 5,
  a = 6,
  b = 7,
  q = 8,
  k = 9,
  v = 10,
  ternary_weights = 11,
  first_vector = 32,  // of the digest
};

std::vector<std::uint8_t> input_bytes(std::uint64_t seed, unsigned stream, std::uint64_t count);

// Byte b stands for (2b - 255) / 256 times a scale that is a power of two: an odd number of 8 bits,
// and so exact in every dtype.
constexpr int uniform_integer(std::uint8_t byte) { return 2 * byte - 255; }

// The scale of the weights of a product over k: 2^(2-e) with the least e such that 4^e >= k.
// Outputs are about 1 then.
double weight_scale(std::uint64_t k);

inline constexpr double kBiasScale = 0.25, kQueryScale = 4, kKeyScale = 2;

// One tensor of a workload, in row-major order.
struct Input {
  std::uint64_t rows = 0, columns = 0;
  std::vector<float> values;
};
// In the order in which the workload's function takes them: mlp x[B,H] w1[4H,H] b1[4H] w2[H,4H]
// b2[H]; gemm a[M,K] b[K,N]; copy x[M,N]; attention q k v [B*heads*M, 64]; ternary x[M,K] t[N,K].
std::vector<Input> inputs_of(const Request& request);

// A vector of the digest, in double.
std::vector<double> digest_vector(std::uint64_t seed, unsigned index, std::uint64_t count);

}  // namespace gpuready::bench
