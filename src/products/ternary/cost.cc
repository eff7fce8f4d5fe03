// What a product takes one thread, roughly: within a factor of two is enough to choose threads by.
#include "ternary/engine.h"

namespace gpuready::ternary {
namespace {

// Weights in a nanosecond.
struct Rates {
  double vector;  // multiplied by one row of activations
  double unpack;  // for a matrix product, once for all rows
  double matrix;  // and multiplied by each row
};

// Of bench_ternary_cpu on Intel Xeons with AVX-512 and with AMX, in the cache. Those of ARM were
// not measured: they are high, so that too few threads work rather than too many.
Rates rates_of(Tier tier) {
  switch (tier) {
    case Tier::scalar:
      return {1, 10, 1};
    case Tier::avx2:
      return {75, 60, 150};
    case Tier::avx_vnni:
      return {100, 60, 220};
    case Tier::avx512_vnni:
      return {160, 60, 400};
    case Tier::amx:
      return {160, 60, 1200};
    case Tier::neon:
      return {50, 60, 60};
    case Tier::dotprod:
      return {100, 60, 120};
    case Tier::i8mm:
      return {100, 60, 240};
  }
  return {160, 60, 400};
}

}  // namespace

double product_ns(Tier tier, const detail::CpuWeights& w, std::size_t rows) {
  const Rates rates = rates_of(tier);
  const double weights =
      static_cast<double>(w.panels * w.blocks) * kernels::kPanelRows * block_cols(w.form);
  // Each group ends with a scale and a sum of its own.
  const double groups = w.group == 0 ? 1 : 1 + 24.0 / static_cast<double>(w.group);
  if (rows == 1) return weights / rates.vector * groups;
  return weights * (1 / rates.unpack + static_cast<double>(rows) / rates.matrix) * groups;
}

double quantise_ns(FloatType type, std::size_t rows, std::size_t cols) {
  const double ns_each = type == FloatType::f32 ? 0.2 : 1.5;
  return static_cast<double>(rows) * static_cast<double>(cols) * ns_each;
}

}  // namespace gpuready::ternary
