#include "bench/run/inputs.h"

#include "base/random.h"

namespace gpuready::bench {
namespace {

Input uniform(const Request& request, InputStream stream, std::uint64_t rows, std::uint64_t columns,
              double scale) {
  Input input{rows, columns, std::vector<float>(rows * columns)};
  const auto bytes = input_bytes(request.seed, static_cast<unsigned>(stream), rows * columns);
  const auto step = static_cast<float>(scale / 256);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    input.values[i] = static_cast<float>(uniform_integer(bytes[i])) * step;
  return input;
}

// Odd multiples of 1/128. Each row begins with the largest, so that quantising it to int8 by its
// largest value changes nothing.
Input ternary_activations(const Request& r) {
  Input x{r.m, r.k, std::vector<float>(r.m * r.k)};
  const auto bytes = input_bytes(r.seed, static_cast<unsigned>(InputStream::x), r.m * r.k);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    x.values[i] = static_cast<float>(i % r.k == 0 ? 127 : 2 * (bytes[i] >> 1) - 127) / 128;
  return x;
}

Input ternary_matrix(const Request& r) {
  Input t{r.n, r.k, std::vector<float>(r.n * r.k)};
  const auto bytes =
      input_bytes(r.seed, static_cast<unsigned>(InputStream::ternary_weights), r.n * r.k);
  for (std::size_t i = 0; i < bytes.size(); ++i) t.values[i] = static_cast<float>(bytes[i] % 3 - 1);
  return t;
}

}  // namespace

std::vector<std::uint8_t> input_bytes(std::uint64_t seed, unsigned stream, std::uint64_t count) {
  std::vector<std::uint8_t> bytes(count);
  const std::uint64_t start = seed * 256 + stream;
  for (std::uint64_t i = 0; i < count; i += 8) {
    std::uint64_t word = SplitMix64::at(start, i / 8);
    for (std::uint64_t j = i; j < count && j < i + 8; ++j, word >>= 8)
      bytes[j] = static_cast<std::uint8_t>(word);
  }
  return bytes;
}

double weight_scale(std::uint64_t k) {
  double scale = 4;
  for (std::uint64_t power = 1; power < k; power *= 4) scale /= 2;
  return scale;
}

std::vector<Input> inputs_of(const Request& r) {
  using enum InputStream;
  switch (r.task) {
    case Task::mlp:
      return {uniform(r, x, r.batch, r.hidden, 1),
              uniform(r, w1, 4 * r.hidden, r.hidden, weight_scale(r.hidden)),
              uniform(r, b1, 1, 4 * r.hidden, kBiasScale),
              uniform(r, w2, r.hidden, 4 * r.hidden, weight_scale(4 * r.hidden)),
              uniform(r, b2, 1, r.hidden, kBiasScale)};
    case Task::gemm:
      return {uniform(r, a, r.m, r.k, 1), uniform(r, b, r.k, r.n, weight_scale(r.k))};
    case Task::copy:
      return {uniform(r, x, r.m, r.n, 1)};
    case Task::attention: {
      const std::uint64_t rows = r.batch * r.heads() * r.m;
      return {uniform(r, q, rows, kHeadElements, kQueryScale),
              uniform(r, k, rows, kHeadElements, kKeyScale), uniform(r, v, rows, kHeadElements, 1)};
    }
    case Task::ternary:
      break;
  }
  return {ternary_activations(r), ternary_matrix(r)};
}

std::vector<double> digest_vector(std::uint64_t seed, unsigned index, std::uint64_t count) {
  const auto bytes =
      input_bytes(seed, static_cast<unsigned>(InputStream::first_vector) + index, count);
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = uniform_integer(bytes[i]) / 256.0;
  return values;
}

}  // namespace gpuready::bench
