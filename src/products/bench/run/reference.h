// What a right stack's digest is, computed by us in double on the CPU, and whether a digest that a
// stack gave is it. Inputs are integers times a power of two, so the first product of mlp is exact;
// what follows it is double. The digests need no second product: q^T y r comes from vectors.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/run/request.h"

namespace gpuready::bench {

// One number of a digest. `scale` is how much it moves when every element of the output is off by
// its own root mean square at random: a stack that rounds by a relative eps is off by eps * scale.
struct ExpectedDigest {
  std::string name;  // y0, y1, y2, activation, z0, z1, mean
  double value = 0, scale = 0;
  // `value` is of a stack that keeps what GELU reads in the dtype. One that does not (it applies
  // GELU within the product) is nearer to the exact value. Roundings do not cancel here: inputs are
  // integers times a step, so that the same few values are rounded again and again.
  std::optional<double> fused = std::nullopt;
  // Both with the tanh approximation of GELU.
  struct Tanh {
    double kept, fused;
  };
  std::optional<Tanh> tanh = std::nullopt;
};

std::vector<ExpectedDigest> reference_digests(const Request& request, unsigned threads);

// Relative to the scale. A copy is exact in every dtype.
double digest_tolerance(const Request& request);

// Why this digest is none of that work; nothing when it is.
std::optional<std::string> other_work(const Request& request,
                                      std::span<const ExpectedDigest> expected,
                                      std::span<const double> found);

// The digests' values in the order of reference_digests(), of outputs as rows of floats: what an
// adapter in C++ computes. mlp: y, z and the mean; the others y alone.
struct Output {
  std::uint64_t rows = 0, columns = 0;
  std::vector<float> values;
};
std::vector<double> digest_of(const Request& request, std::span<const Output> outputs);

}  // namespace gpuready::bench
