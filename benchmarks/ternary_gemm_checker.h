// Matrix products on a GPU, held against the CPU's engine bit for bit, over inputs of every type.
#pragma once

#include <random>

#include "gpuready/ternary.h"
#include "ternary_gemm_common.h"

namespace gpuready::ternary {

FloatType float_type(GemmInput type);

// Of weights and activations: random ones, or those whose sums are the greatest or the least.
enum class Fill { random, greatest, least };

struct Case {
  Problem p;
  Fill fill = Fill::random;
};

struct Checker {
  Device& device;
  CpuEngine engine;
  std::mt19937_64 random{20250807};
  unsigned long compared = 0, wrong = 0;

  // A case by each of the plans, from every type of input to every type of output.
  void run(const Case& c, const std::vector<GemmPlan>& plans);

  std::int8_t weight(Fill fill);
  std::vector<std::byte> expected(const PackedWeights& weights, const Activations& y,
                                  OutputType type);

 private:
  struct Input {
    GemmInput type;
    std::vector<std::byte> bytes;
  };
  std::vector<Input> inputs(const Case& c);
  void check_rows(const Case& c, const GpuActivationsView& view, const Activations& y);
  void put_codes(const GpuActivationsView& view, const Activations& y);
  void poison(const GpuActivationsView& view);
  void compare(const Case& c, const GemmPlan& plan, GemmInput input, OutputType type,
               const std::vector<std::byte>& actual, const std::vector<std::byte>& right);
};

}  // namespace gpuready::ternary
