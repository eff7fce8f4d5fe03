#include "host/errno_names.h"

#include <cerrno>

namespace gpuready {
namespace {

struct Entry {
  int number;
  std::string_view name;
};
// What open, read, readlink, opendir, stat and posix_spawn answer on Linux, by frequency.
constexpr Entry kNames[] = {
    {ENOENT, "ENOENT"},
    {EACCES, "EACCES"},
    {EPERM, "EPERM"},
    {ENODEV, "ENODEV"},
    {EIO, "EIO"},
    {ENXIO, "ENXIO"},
    {EINVAL, "EINVAL"},
    {ENOTDIR, "ENOTDIR"},
    {EISDIR, "EISDIR"},
    {EBUSY, "EBUSY"},
    {EAGAIN, "EAGAIN"},
    {ELOOP, "ELOOP"},
    {ENOSYS, "ENOSYS"},
    {ENOMEM, "ENOMEM"},
    {EOPNOTSUPP, "EOPNOTSUPP"},
    {ETIMEDOUT, "ETIMEDOUT"},
    {ENODATA, "ENODATA"},
    {ENOEXEC, "ENOEXEC"},
    {EMFILE, "EMFILE"},
    {ENFILE, "ENFILE"},
    {EOVERFLOW, "EOVERFLOW"},
    {ENAMETOOLONG, "ENAMETOOLONG"},
    {ESTALE, "ESTALE"},
    {ETXTBSY, "ETXTBSY"},
    {EREMOTEIO, "EREMOTEIO"},
    {EFAULT, "EFAULT"},
    {E2BIG, "E2BIG"},
};

}  // namespace

std::optional<int> errno_from_name(std::string_view name) {
  for (const auto& entry : kNames)
    if (entry.name == name) return entry.number;
  return std::nullopt;
}

std::string_view errno_name(int number) {
  for (const auto& entry : kNames)
    if (entry.number == number) return entry.name;
  return {};
}

}  // namespace gpuready
