#include "base/c_api/c_status.h"

#include <algorithm>

namespace gpuready {
namespace {

thread_local std::string last_error;

// Far more than any struct of these interfaces takes: a `size` beyond it was never set.
constexpr std::size_t kMostStructBytes = 64 << 10;

constexpr const char* kTexts[] = {
    "success",
    "no GPU backend or device",
    "bad argument",
    "a GPU driver failed",
    "internal error",
    "too large",
    "not found",
    "no permission",
    "timed out",
    "unsupported",
    "busy",
    "cancelled",
    "input or output failed",
    "not enough device memory",
    "the device is lost",
    "wrong size",
    "truncated",
    "not finite",
    "bad code",
    "not representable",
    "not a ternary format",
    "unknown format",
    "ambiguous format",
    "unsupported tier",
};
static_assert(std::size(kTexts) == GPUREADY_UNSUPPORTED_TIER + 1);

std::size_t size_at(const void* at) {
  std::size_t size;
  std::memcpy(&size, at, sizeof size);
  return size;
}

}  // namespace

gpuready_status status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::not_found:
    case ErrorKind::not_recorded:
      return GPUREADY_NOT_FOUND;
    case ErrorKind::no_permission:
      return GPUREADY_NO_PERMISSION;
    case ErrorKind::bad_input:
      return GPUREADY_BAD_ARGUMENT;
    case ErrorKind::too_large:
      return GPUREADY_TOO_LARGE;
    case ErrorKind::timed_out:
    case ErrorKind::hung:
      return GPUREADY_TIMED_OUT;
    case ErrorKind::crashed:
    case ErrorKind::device:
      return GPUREADY_DEVICE_ERROR;
    case ErrorKind::unsupported:
      return GPUREADY_UNSUPPORTED;
    case ErrorKind::busy:
      return GPUREADY_BUSY;
    case ErrorKind::cancelled:
      return GPUREADY_CANCELLED;
    case ErrorKind::io:
      return GPUREADY_IO_ERROR;
    case ErrorKind::no_device:
      return GPUREADY_NO_GPU;
    case ErrorKind::device_memory:
      return GPUREADY_DEVICE_MEMORY;
    case ErrorKind::device_lost:
      return GPUREADY_DEVICE_LOST;
    case ErrorKind::wrong_size:
      return GPUREADY_WRONG_SIZE;
    case ErrorKind::truncated:
      return GPUREADY_TRUNCATED;
    case ErrorKind::not_finite:
      return GPUREADY_NOT_FINITE;
    case ErrorKind::bad_code:
      return GPUREADY_BAD_CODE;
    case ErrorKind::not_representable:
      return GPUREADY_NOT_REPRESENTABLE;
    case ErrorKind::not_ternary:
      return GPUREADY_NOT_TERNARY;
    case ErrorKind::unknown_format:
      return GPUREADY_UNKNOWN_FORMAT;
    case ErrorKind::ambiguous_format:
      return GPUREADY_AMBIGUOUS_FORMAT;
    case ErrorKind::unsupported_tier:
      return GPUREADY_UNSUPPORTED_TIER;
  }
  return GPUREADY_INTERNAL_ERROR;
}

gpuready_status c_failed(gpuready_status status, std::string text) {
  last_error = std::move(text);
  return status;
}

void c_succeeded() { last_error.clear(); }

// Short enough to need no memory of its own.
gpuready_status c_out_of_memory() {
  last_error = "memory ran out";
  return GPUREADY_TOO_LARGE;
}

gpuready_status c_threw() {
  last_error.clear();
  return GPUREADY_INTERNAL_ERROR;
}

Result<void> check_struct_size(const char* name, const void* at, std::size_t known) {
  if (at == nullptr) return null_pointer(name);
  const std::size_t size = size_at(at);
  if (size >= known && size <= kMostStructBytes) return {};
  return fail(ErrorKind::bad_input, "the size of " + std::string(name) + " is set to " +
                                        std::to_string(size) + " bytes, not sizeof(" + name +
                                        "), which is " + std::to_string(known));
}

bool tail_is_zero(const void* at, std::size_t known) {
  const auto* bytes = static_cast<const unsigned char*>(at);
  return std::all_of(bytes + known, bytes + size_at(at),
                     [](unsigned char byte) { return byte == 0; });
}

}  // namespace gpuready

const char* gpuready_status_text(gpuready_status status) {
  const auto index = static_cast<std::size_t>(status);
  return index < std::size(gpuready::kTexts) ? gpuready::kTexts[index] : "unknown status";
}

const char* gpuready_last_error(void) { return gpuready::last_error.c_str(); }
