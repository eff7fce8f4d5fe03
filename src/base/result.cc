#include "base/result.h"

#include <cerrno>
#include <cstring>

namespace gpuready {

std::string_view v0::to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::not_found:
      return "not_found";
    case ErrorKind::no_permission:
      return "no_permission";
    case ErrorKind::not_recorded:
      return "not_recorded";
    case ErrorKind::bad_input:
      return "bad_input";
    case ErrorKind::too_large:
      return "too_large";
    case ErrorKind::timed_out:
      return "timed_out";
    case ErrorKind::hung:
      return "hung";
    case ErrorKind::crashed:
      return "crashed";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::busy:
      return "busy";
    case ErrorKind::cancelled:
      return "cancelled";
    case ErrorKind::io:
      return "io";
    case ErrorKind::no_device:
      return "no_device";
    case ErrorKind::device:
      return "device";
    case ErrorKind::device_memory:
      return "device_memory";
    case ErrorKind::device_lost:
      return "device_lost";
    case ErrorKind::wrong_size:
      return "wrong_size";
    case ErrorKind::truncated:
      return "truncated";
    case ErrorKind::not_finite:
      return "not_finite";
    case ErrorKind::bad_code:
      return "bad_code";
    case ErrorKind::not_representable:
      return "not_representable";
    case ErrorKind::not_ternary:
      return "not_ternary";
    case ErrorKind::unknown_format:
      return "unknown_format";
    case ErrorKind::ambiguous_format:
      return "ambiguous_format";
    case ErrorKind::unsupported_tier:
      return "unsupported_tier";
  }
  return "unknown";
}

std::unexpected<Error> fail_errno(std::string_view what, int error_number) {
  ErrorKind kind = ErrorKind::io;
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
    case ENXIO:
      kind = ErrorKind::not_found;
      break;
    case EACCES:
    case EPERM:
      kind = ErrorKind::no_permission;
      break;
    case EBUSY:
      kind = ErrorKind::busy;
      break;
    case ETIMEDOUT:
      kind = ErrorKind::timed_out;
      break;
    case EOPNOTSUPP:
    case ENOSYS:
      kind = ErrorKind::unsupported;
      break;
    default:
      break;
  }
  return fail(kind, std::string(what) + ": " + std::strerror(error_number), error_number);
}

}  // namespace gpuready
