// Results and errors of the C++ interface. Every operation that can fail for a reason outside the
// program returns Result<T>; exceptions are for programmer errors only.
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace gpuready {

enum class ErrorKind {
  not_found,      // the named thing does not exist
  no_permission,  // it exists, but this user or container may not read or use it
  not_recorded,   // a replay was asked for something that its recording does not hold
  bad_input,      // an argument, option, variable or file is malformed or out of range
  too_large,      // a size overflows or exceeds a limit, or there is not enough host memory
  timed_out,      // a deadline passed
  hung,           // a deadline passed and /proc showed the child in uninterruptible sleep
  crashed,        // a child died by a signal
  unsupported,    // this platform, driver or device cannot do it
  busy,           // somebody else is using it
  cancelled,      // the caller asked to stop
  io,             // any other failure of the operating system; output could not be written

  // Of devices.
  no_device,      // the device that was asked for is not there or cannot be opened
  device,         // a GPU driver's call failed, and may be tried again; `code` is its number
  device_memory,  // the device does not have enough free memory
  device_lost,    // the device's context is gone; nothing can be done there any more

  // Of data.
  wrong_size,         // a buffer or shape does not fit the format or the other operand
  truncated,          // encoded bytes or a file end too early
  not_finite,         // a NaN or an infinity in the input
  bad_code,           // encoded bytes hold a code that the format does not define
  not_representable,  // the target format cannot hold these values without loss
  not_ternary,        // the format has four levels and no zero
  unknown_format,     // no format has this name
  ambiguous_format,   // several formats share this name; one of them must be named
  unsupported_tier,   // this CPU, build or kernel does not give the tier that was demanded
};

std::string_view to_string(ErrorKind kind);

struct Error {
  ErrorKind kind = ErrorKind::io;
  std::string message;  // one sentence: what, where, and the cure where there is one
  int code = 0;         // errno or the vendor's error number; 0 when there is none
};

template <class T>
using Result = std::expected<T, Error>;

}  // namespace gpuready
