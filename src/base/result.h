// Results and errors. Every operation that can fail for a reason outside the program returns
// Result<T>; exceptions are for programmer errors only.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace gpuready {

enum class ErrorKind {
  not_found,      // the named thing does not exist
  no_permission,  // it exists, but this user or container may not read or use it
  not_recorded,   // a replay was asked for something that its recording does not hold
  bad_input,      // malformed: truncated, corrupt, wrong version, out of range
  too_large,      // a limit that protects us was reached; the message names it
  timed_out,      // a deadline passed
  hung,           // a deadline passed and /proc showed the child in uninterruptible sleep
  crashed,        // a child died by a signal
  unsupported,    // this platform, driver or device cannot do it
  busy,           // somebody else is using it
  cancelled,      // the caller asked to stop
  io,             // any other failure of the operating system
  device,         // a GPU driver's call failed; `code` is the vendor's number
};

std::string_view to_string(ErrorKind kind);

struct Error {
  ErrorKind kind = ErrorKind::io;
  std::string message;  // one sentence: what, where, and the cure where there is one
  int code = 0;         // errno or the vendor's error number; 0 when there is none
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(ErrorKind kind, std::string message, int code = 0) {
  return std::unexpected(Error{kind, std::move(message), code});
}
// Error from errno, with the kind that the number implies: "<what>: <strerror>".
std::unexpected<Error> fail_errno(std::string_view what, int error_number);

}  // namespace gpuready

// The value of a Result, or a return of its error from the function that it stands in:
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
