// The validation suite over the ternary tensors of a file.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ternary/suite/verify.h"

namespace gpuready::ternary {

struct TensorInput {
  std::string name;
  // Reads the tensor; called once, when its turn comes. The view is good until the next is read.
  std::function<Result<EncodedView>()> read;
};

// Each tensor must be well-formed, decode, and encode to the same codes and scales again; its
// products with two rows of activations must be right on every tier and device: of the first
// weights of a file each output of each packed form, of the rest f32 by one form or the other. A
// subject's results are one check "file" whose cases are the tensors. A tensor whose rows have
// blocks of different scales is not supported: nothing here multiplies it.
VerifyReport verify_file(std::span<const Subject> subjects, std::span<const TensorInput> tensors,
                         const VerifyOptions& options);

}  // namespace gpuready::ternary
