// How results and errors are made and passed on; gpuready/result.h says what they are.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "gpuready/result.h"

namespace gpuready {

inline std::unexpected<Error> fail(ErrorKind kind, std::string message, int code = 0) {
  return std::unexpected(Error{kind, std::move(message), code});
}
// Error from errno, with the kind that the number implies: "<what>: <strerror>".
std::unexpected<Error> fail_errno(std::string_view what, int error_number);

}  // namespace gpuready

// The value of a Result, or a return of its error from the enclosing function:
//   const auto text = TRY(host.read_file(path));
// A statement expression, which g++ and clang both have.
#define TRY(expression) GPUREADY_TRY_NAMED(expression, __COUNTER__)
#define GPUREADY_TRY_NAMED(expression, number) GPUREADY_TRY(expression, number)
#define GPUREADY_TRY(expression, number)                                                      \
  ({                                                                                          \
    auto try_result_##number = (expression);                                                  \
    if (!try_result_##number) return std::unexpected(std::move(try_result_##number).error()); \
    *std::move(try_result_##number);                                                          \
  })
