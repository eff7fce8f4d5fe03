#include "health/compute/reference.h"

#include "base/parallel.h"
#include "kernels/cpu/compute_golden.h"

namespace gpuready {

std::vector<std::uint64_t> golden_results(const ComputeWork& work, unsigned op) {
  std::vector<std::uint64_t> results(compute_results(op, work.count, work.shared_words));
  compute_golden_launch(op, work.seed, 0, work.count, work.shared_words, results.data());
  return results;
}

std::uint64_t checksum_of(std::span<const std::uint64_t> results) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < results.size(); ++i)
    sum += compute_fold(results[i], static_cast<unsigned>(i));
  return sum;
}

ComputeChecksums golden_checksums(const ComputeWork& work, std::span<const unsigned> ops) {
  constexpr unsigned kMostThreads = 8;
  ComputeChecksums checksums{};
  in_parallel(ops.size(), kMostThreads, [&](std::size_t i) {
    checksums[ops[i]] = checksum_of(golden_results(work, ops[i]));
  });
  return checksums;
}

std::future<ComputeChecksums> golden_checksums_beside(const ComputeWork& work,
                                                      std::vector<unsigned> ops) {
  return std::async(std::launch::async,
                    [work, ops = std::move(ops)] { return golden_checksums(work, ops); });
}

}  // namespace gpuready
