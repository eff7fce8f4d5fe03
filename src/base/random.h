// Random numbers: unpredictable ones, and ones that follow from a seed.
#pragma once

#include <cstdint>

namespace gpuready {

// From the kernel (std::random_device would need a newer glibc than we promise).
std::uint64_t random_u64();

// Uniform numbers that are the same everywhere: SplitMix64 (Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators", 2014).
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return mixed(state_ += kStep); }
  // The number that next() of a new one gives after `index` others.
  static std::uint64_t at(std::uint64_t seed, std::uint64_t index) {
    return mixed(seed + (index + 1) * kStep);
  }
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;

 private:
  static std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  std::uint64_t state_;
};

}  // namespace gpuready
