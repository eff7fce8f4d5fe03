// Operands of the tensor test and the exact answers to them, all computed on the CPU in integers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "health/tensor/forms.h"
#include "kernel_abi/tensor_params.h"

namespace gpuready {

// The largest magnitudes drawn. In even slices A has the large ones and B the small ones, in odd
// slices the other way round, so that every bit of both is used and sums stay exact whatever the
// rotation (which shifts slices by even numbers).
struct TensorBounds {
  int large = 0, small = 0;
};
TensorBounds bounds_of(const TensorForm& form);

// The bits of a small integer in this type; exact within bounds_of().
std::uint32_t encode(TensorType type, int value);

class TensorCase {
 public:
  TensorCase(const TensorForm& form, std::uint64_t seed);

  const TensorForm& form() const { return *form_; }
  int value(TensorOperand operand, unsigned row, unsigned k) const;
  // The exact sum, and the bits that the accumulator must hold.
  std::int32_t sum(TensorElement element, unsigned rotation) const;
  std::uint32_t golden(TensorElement element, unsigned rotation) const;
  std::uint32_t golden_fold(unsigned thread, unsigned rotation) const;
  // What the kernel reads: the operands as form().place() has them, then the golden folds.
  const std::vector<std::uint8_t>& image() const { return image_; }

 private:
  const TensorForm* form_;
  unsigned depth_;
  std::vector<std::int16_t> a_, b_;  // rows of B twice as long, to run on where a rotation wraps
  std::vector<std::uint8_t> image_;
};

// The fold as the kernels compute it.
std::uint32_t tensor_fold(const std::uint32_t* values, unsigned count);

// Made once for a process, as long as the seed stays the same: it takes milliseconds.
std::shared_ptr<const TensorCase> tensor_case(const TensorForm& form, std::uint64_t seed);

}  // namespace gpuready
