// Where the faults on purpose of the tensor test are made.
#pragma once

#include <cstdint>
#include <span>

#include "health/fault.h"
#include "health/tensor/run.h"

namespace gpuready {

// Which of `forms` a fault on purpose is made in, and where: on one of the SMs seen.
struct TensorFaultPlace {
  std::size_t form = 0;  // slow-sm, slow-clock: of no meaning, it is slow in all
  TensorFault fault;
};
TensorFaultPlace draw_tensor_fault(const Fault& fault, std::span<const TensorForm* const> forms,
                                   std::span<const std::uint64_t> units);

}  // namespace gpuready
