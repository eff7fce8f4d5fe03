// Parameters of suites that run on every CPU tier, and what their tests are called.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "ternary/cpu/tiers.h"

namespace gpuready::ternary {

inline auto every_tier() {
  return testing::Values(Tier::scalar, Tier::avx2, Tier::avx_vnni, Tier::avx512_vnni, Tier::amx,
                         Tier::neon, Tier::dotprod, Tier::i8mm);
}

inline std::string name_of_tier(const testing::TestParamInfo<Tier>& tested) {
  std::string name(to_string(tested.param));
  std::erase(name, '-');
  return name;
}

}  // namespace gpuready::ternary
