#include "base/random.h"

#include <gtest/gtest.h>

namespace gpuready {
namespace {

// The first numbers of the reference implementation (prng.di.unimi.it/splitmix64.c).
TEST(SplitMix64, GivesTheReferencesNumbers) {
  SplitMix64 zero(0);
  EXPECT_EQ(zero.next(), 0xe220a8397b1dcdafu);
  SplitMix64 numbers(1234567);
  EXPECT_EQ(numbers.next(), 6457827717110365317u);
  EXPECT_EQ(numbers.next(), 3203168211198807973u);
}

TEST(SplitMix64, ANumberCanBeHadByItsIndex) {
  SplitMix64 numbers(42);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(SplitMix64::at(42, i), numbers.next());
}

}  // namespace
}  // namespace gpuready
