#include "bench/run/order.h"

#include <array>
#include <utility>

#include "base/random.h"

namespace gpuready::bench {

std::vector<bool> candidate_first(std::size_t pairs, std::uint64_t seed) {
  SplitMix64 random(seed);
  std::vector<bool> order;
  while (order.size() < pairs) {
    std::array<bool, 4> four = {false, false, true, true};
    for (std::size_t i = four.size() - 1; i > 0; --i)  // Fisher and Yates; 2^64 mod 3 is no matter
      std::swap(four[i], four[random.next() % (i + 1)]);
    order.insert(order.end(), four.begin(), four.end());
  }
  order.resize(pairs);
  return order;
}

}  // namespace gpuready::bench
