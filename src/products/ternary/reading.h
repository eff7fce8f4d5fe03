// How vector products read their weights on this CPU: found out once, by the first products of each
// size, which are timed. It decides how long a product takes, and never what comes out.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/result.h"
#include "ternary/cpu/kernels.h"

namespace gpuready::ternary {

// What a vector product reads, by the kernels that do it.
enum class Read { two_bit, three_trits, groups };
inline constexpr std::size_t kReads = 3;

class ReadingChoice {
 public:
  // One that is set is kept.
  explicit ReadingChoice(std::optional<kernels::Reading> set = std::nullopt) : set_(set) {}

  // For a product whose packed weights have this size. While that size is being found out,
  // each call gives another candidate, and end() says when its product is done.
  kernels::Reading begin(Read read, std::size_t bytes);
  void end();
  void abandon() { trial_ = nullptr; }  // instead, of one that did not come to its end
  // The same with the time given, for tests.
  void end_after(double ns);
  // Of products of this size, once it is known.
  std::optional<kernels::Reading> chosen(Read read, std::size_t bytes) const;

 private:
  using SteadyClock = std::chrono::steady_clock;
  struct Size {
    std::vector<double> ns_per_byte;  // in the order of the trials
    std::optional<std::size_t> best;  // of the candidates
  };
  std::optional<kernels::Reading> set_;
  std::array<std::array<Size, 64>, kReads> sizes_;  // by powers of two
  Size* trial_ = nullptr;                           // of the product that runs
  std::size_t trial_bytes_ = 0;
  SteadyClock::time_point began_;
};

// GPUREADY_TERNARY_READING, as in "2x4096": panels side by side, and bytes of each asked for ahead.
Result<std::optional<kernels::Reading>> reading_of(const char* text);

}  // namespace gpuready::ternary
