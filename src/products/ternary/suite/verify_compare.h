// How the suite compares what it got with what is right.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "base/clock.h"
#include "ternary/suite/verify_subject.h"

namespace gpuready::ternary {

class CheckTimer {
 public:
  explicit CheckTimer(CheckResult& check) : check_(check) {}
  ~CheckTimer() { check_.duration_ms += elapsed_ms(start_); }
  CheckTimer(const CheckTimer&) = delete;
  CheckTimer& operator=(const CheckTimer&) = delete;

 private:
  CheckResult& check_;
  Clock::time_point start_ = Clock::now();
};

template <class T>
std::string text_of(T value) {
  if constexpr (std::is_same_v<T, float>) {
    char text[48];
    std::snprintf(text, sizeof text, "%.9g (0x%08x)", static_cast<double>(value),
                  std::bit_cast<unsigned>(value));
    return text;
  }
  return std::to_string(value);
}

// What no product leaves behind.
template <class T>
std::vector<T> poisoned(std::size_t count) {
  std::vector<T> out(count);
  std::memset(out.data(), 0x5A, count * sizeof(T));
  return out;
}

template <class T>
void SubjectRun::compare(CheckId id, std::span<const T> got, std::span<const T> want,
                         std::int64_t cols, const std::string& where) {
  CheckResult& c = check(id);
  ++c.cases;
  c.elements += want.size();
  if (std::memcmp(got.data(), want.data(), want.size_bytes()) == 0) return;
  ++c.wrong;
  if (c.wrong > 1) return;
  std::size_t at = 0;
  const auto bits = [&](std::span<const T> of) { return std::as_bytes(of.subspan(at, 1)); };
  while (std::ranges::equal(bits(got), bits(want))) ++at;
  const auto width = static_cast<std::size_t>(cols);
  c.reason = where + ": element (" + std::to_string(at / width) + ", " +
             std::to_string(at % width) + ") is " + text_of(got[at]) + ", not " + text_of(want[at]);
}

}  // namespace gpuready::ternary
