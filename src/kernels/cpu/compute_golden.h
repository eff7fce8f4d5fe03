// What the compute test's operations must give, computed by the host: integers, fp32 and fp64 by
// the host's own IEEE 754 arithmetic, fp16 in wide integers.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernel_abi/compute_params.h"

namespace gpuready {

enum class ComputeResult { i32, i64, f16, f16x2, f32, f64 };

struct ComputeOpInfo {
  std::string_view name;  // "fp32 fma"
  ComputeInputKind inputs;
  ComputeResult result;
};
const ComputeOpInfo& compute_op(unsigned op);
unsigned compute_result_bits(ComputeResult result);  // 16, 32 or 64
std::uint64_t compute_nan(ComputeResult result);     // 0 for integers

// Results first_index to first_index + count - 1 of an operation whose results each depend on
// their index alone (all but the atomics). Special functions: the value rounded to fp32.
void compute_golden_results(unsigned op, std::uint64_t seed, unsigned first_index, unsigned count,
                            std::uint64_t* results);
// All results of one operation in one launch: compute_results() of them.
void compute_golden_launch(unsigned op, std::uint64_t seed, unsigned first_index, unsigned count,
                           unsigned shared_words, std::uint64_t* results);

// Whether this thread's arithmetic is what the reference needs: to nearest even, subnormals kept.
bool host_arithmetic_is_ieee();

}  // namespace gpuready
