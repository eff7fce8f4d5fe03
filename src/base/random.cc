#include "base/random.h"

#include <sys/random.h>

#include "base/clock.h"

namespace gpuready {

std::uint64_t random_u64() {
  std::uint64_t value = 0;
  if (::getrandom(&value, sizeof value, 0) != sizeof value)  // before Linux 3.17 there is none
    value =
        static_cast<std::uint64_t>(Clock::now().time_since_epoch().count()) * 0x9E3779B97F4A7C15u;
  return value;
}

}  // namespace gpuready
