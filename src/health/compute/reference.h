// The golden checksums of one launch of the compute test, which all units share.
#pragma once

#include <array>
#include <cstdint>
#include <future>
#include <span>
#include <vector>

#include "kernel_abi/compute_params.h"

namespace gpuready {

// The inputs of a launch: what is computed, not where.
struct ComputeWork {
  std::uint64_t seed = 0;
  unsigned first_op = 0, end_op = 0;
  unsigned count = 0, shared_words = 0;
};

using ComputeChecksums = std::array<std::uint64_t, kComputeOps>;

// All results of one operation.
std::vector<std::uint64_t> golden_results(const ComputeWork& work, unsigned op);
std::uint64_t checksum_of(std::span<const std::uint64_t> results);
// By several threads of the host; for the operations given (others stay 0).
ComputeChecksums golden_checksums(const ComputeWork& work, std::span<const unsigned> ops);
// The same, while the device works.
std::future<ComputeChecksums> golden_checksums_beside(const ComputeWork& work,
                                                      std::vector<unsigned> ops);

}  // namespace gpuready
