// What the stacks on the CPU share: samples by the host's clock.
#pragma once

#include <vector>

#include "bench/native/native_stack.h"

namespace gpuready::bench {

class HostStack : public NativeStack {
 public:
  Result<std::vector<double>> block(std::uint64_t iterations, std::uint64_t count) final;
  Result<double> cold_sample_ms() final;

 protected:
  virtual Result<void> iterate() = 0;

 private:
  std::vector<unsigned char> cache_;
  unsigned char flushes_ = 0;
};

}  // namespace gpuready::bench
