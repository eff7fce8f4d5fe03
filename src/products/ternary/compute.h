// How every public function computes: with the same rounding whatever its caller has set, and with
// an error instead of an exception where memory runs out or the caller asks to stop.
#pragma once

#include <cstdint>
#include <new>
#include <stdexcept>

#include "base/result.h"
#include "ternary/stop.h"

namespace gpuready::ternary {

// While it lives, this thread rounds to nearest even, keeps subnormals and traps nothing; then the
// caller's control register is as it was. MXCSR on x86, FPCR on ARM: without it a caller's rounding
// mode or flush to zero would change scales and products, and only in the caller's own thread.
// Out of line, so that no arithmetic moves across it.
class DefaultRounding {
 public:
  DefaultRounding();
  ~DefaultRounding();
  DefaultRounding(const DefaultRounding&) = delete;
  DefaultRounding& operator=(const DefaultRounding&) = delete;

 private:
  std::uint64_t before_ = 0;
  bool changed_ = false;
};

// Short enough to need no memory.
inline std::unexpected<Error> out_of_memory() {
  return fail(ErrorKind::too_large, "memory ran out");
}

// Runs `body`, which returns a Result.
template <class Body>
auto compute(Body&& body) -> decltype(body()) {
  if (StopSignal::of_this_thread().requested()) return cancelled();
  const DefaultRounding rounding;
  try {
    return body();
  } catch (const Cancelled&) {
    return cancelled();
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::length_error&) {
    return out_of_memory();
  }
}

}  // namespace gpuready::ternary
