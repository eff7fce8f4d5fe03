#include "ternary/reading.h"

#include <algorithm>
#include <bit>

#include "base/text.h"

namespace gpuready::ternary {
namespace {

// By Read. The first is the default: what is not clearly quicker does not replace it.
constexpr std::size_t kCount = 5, kRounds = 5;
constexpr kernels::Reading kCandidates[kReads][kCount] = {
    {{4, 2048}, {2, 2048}, {1, 2048}, {1, 4096}, {1, 8192}},
    {{4, 3840}, {2, 3840}, {1, 3840}, {1, 8192}, {1, 16384}},
    {{4, 2048}, {2, 2048}, {1, 2048}, {1, 4096}, {1, 8192}}};
constexpr double kClearly = 0.98;
constexpr std::size_t kLeastBytes = 256 << 10;  // below, a product takes a few microseconds

// Each round tries all in another order, so that a model's layers, which come in the same order
// again and again, do not meet the same candidate each time. kCount is a prime number.
std::size_t candidate(std::size_t trial) {
  const std::size_t round = trial / kCount, turn = trial % kCount;
  return (round + turn * (1 + round % (kCount - 1))) % kCount;
}

double median_of(const std::vector<double>& times, std::size_t which) {
  std::vector<double> own;
  for (std::size_t trial = 0; trial < times.size(); ++trial)
    if (candidate(trial) == which) own.push_back(times[trial]);
  std::ranges::nth_element(own, own.begin() + kRounds / 2);
  return own[kRounds / 2];
}

std::size_t best_of(const std::vector<double>& times) {
  std::size_t best = 0;
  double least = kClearly * median_of(times, 0);
  for (std::size_t i = 1; i < kCount; ++i)
    if (const double time = median_of(times, i); time < least) best = i, least = time;
  return best;
}

std::size_t size_class(std::size_t bytes) {
  return static_cast<std::size_t>(std::bit_width(bytes) - 1);
}

}  // namespace

kernels::Reading ReadingChoice::begin(Read read, std::size_t bytes) {
  trial_ = nullptr;
  if (const auto known = chosen(read, bytes)) return *known;
  Size& size = sizes_[static_cast<std::size_t>(read)][size_class(bytes)];
  trial_ = &size;
  trial_bytes_ = bytes;
  began_ = SteadyClock::now();
  return kCandidates[static_cast<std::size_t>(read)][candidate(size.ns_per_byte.size())];
}

void ReadingChoice::end() {
  if (trial_ != nullptr)
    end_after(std::chrono::duration<double, std::nano>(SteadyClock::now() - began_).count());
}

void ReadingChoice::end_after(double ns) {
  if (trial_ == nullptr) return;
  trial_->ns_per_byte.push_back(ns / static_cast<double>(trial_bytes_));
  if (trial_->ns_per_byte.size() == kCount * kRounds) {
    trial_->best = best_of(trial_->ns_per_byte);
    trial_->ns_per_byte = {};
  }
  trial_ = nullptr;
}

std::optional<kernels::Reading> ReadingChoice::chosen(Read read, std::size_t bytes) const {
  const auto& candidates = kCandidates[static_cast<std::size_t>(read)];
  if (set_) return set_;
  if (bytes < kLeastBytes) return candidates[0];
  const auto best = sizes_[static_cast<std::size_t>(read)][size_class(bytes)].best;
  return best ? std::optional(candidates[*best]) : std::nullopt;
}

Result<std::optional<kernels::Reading>> reading_of(const char* text) {
  if (text == nullptr || *text == 0) return std::nullopt;
  const auto parts = split(text, "x");
  const auto streams = parts.size() == 2 ? parse_uint(parts[0]) : std::nullopt;
  const auto ahead = parts.size() == 2 ? parse_uint(parts[1]) : std::nullopt;
  if (!streams || !ahead || (*streams != 1 && *streams != 2 && *streams != 4) || *ahead > 1 << 20)
    return fail(ErrorKind::bad_input,
                "GPUREADY_TERNARY_READING is \"" + printable(text) +
                    "\"; expected panels x bytes, as in 2x4096: 1, 2 or 4 panels side by side, and "
                    "at most 1048576 bytes asked for ahead");
  return kernels::Reading{static_cast<int>(*streams), static_cast<std::size_t>(*ahead)};
}

}  // namespace gpuready::ternary
