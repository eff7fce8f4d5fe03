#include "base/result.h"

#include <cerrno>
#include <cstring>

#include "base/named.h"

namespace gpuready {

NAMES_OF(ErrorKind, "not_found", "no_permission", "not_recorded", "bad_input", "too_large",
         "timed_out", "hung", "crashed", "unsupported", "busy", "cancelled", "io", "no_device",
         "device", "device_memory", "device_lost", "wrong_size", "truncated", "not_finite",
         "bad_code", "not_representable", "not_ternary", "unknown_format", "ambiguous_format",
         "unsupported_tier");

std::string_view v0::to_string(ErrorKind kind) { return name_of(kind); }

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
