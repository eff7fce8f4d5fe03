// The tensor test: the dense matrix instructions of bf16, fp16, tf32, int8 and fp8 that the GPU has
// (forms.h; not FP64, structured sparsity, fp4 and tcgen05), on every SM, on integers whose sums
// are exact, so that each result must equal the CPU's bit for bit. It is the burn, too: most of its
// time goes to one form that keeps the tensor cores busy without a pause while all is checked.
#pragma once

#include "health/test.h"

namespace gpuready {

Verdict test_tensor(Device& device, const TestOptions& options, const TestHooks& hooks);

}  // namespace gpuready
