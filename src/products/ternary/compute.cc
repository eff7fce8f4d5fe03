#include "ternary/compute.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace gpuready::ternary {
namespace {

#if defined(__x86_64__)
// All exceptions masked; the low six bits only record which have happened.
constexpr std::uint64_t kDefault = 0x1F80, kRecords = 0x3F;
std::uint64_t control() { return _mm_getcsr(); }
void set_control(std::uint64_t value) { _mm_setcsr(static_cast<unsigned>(value)); }
#elif defined(__aarch64__)
constexpr std::uint64_t kDefault = 0, kRecords = 0;
std::uint64_t control() {
  std::uint64_t value;
  __asm__ volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
void set_control(std::uint64_t value) { __asm__ volatile("msr fpcr, %0" : : "r"(value)); }
#else
constexpr std::uint64_t kDefault = 0, kRecords = 0;
std::uint64_t control() { return kDefault; }
void set_control(std::uint64_t) {}
#endif

}  // namespace

DefaultRounding::DefaultRounding()
    : before_(control()), changed_((before_ & ~kRecords) != kDefault) {
  if (changed_) set_control(kDefault);
}
DefaultRounding::~DefaultRounding() {
  if (changed_) set_control(before_);
}

}  // namespace gpuready::ternary
