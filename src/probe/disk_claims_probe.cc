// Which disks something claims: a filesystem in any mount namespace, swap, RAID, device mapper, an
// export, a program. The kernel grants one exclusive open of a disk or of parts of it (open(2),
// O_EXCL without O_CREAT), so another one is refused while it lasts. Nothing is read.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/descriptor.h"
#include "base/text.h"
#include "host/host.h"
#include "probe/probes.h"

namespace gpuready {
namespace {

// 0, or the errno of the exclusive open. What is called so in /dev must be the disk.
int claim_disk(const std::string& name, const std::string& number) {
  std::string node = "/dev/" + name;
  std::ranges::replace(node, '!', '/');  // as the kernel writes a slash in sysfs
  struct stat status = {};
  if (::stat(node.c_str(), &status) != 0) return errno;
  if (!S_ISBLK(status.st_mode) ||
      std::to_string(major(status.st_rdev)) + ":" + std::to_string(minor(status.st_rdev)) != number)
    return ENODEV;
  const Descriptor disk(::open(node.c_str(), O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC));
  return disk ? 0 : errno;
}

}  // namespace

void probe_disk_claims(ProbeWriter& writer, std::span<const std::string> args) {
  const auto host = make_live_host();
  for (const auto& name : args) {
    const auto call = "claim(" + name + ")";
    writer.begin(call);
    const auto number = host->read_text("/sys/class/block/" + name + "/dev");
    writer.answer(call, claim_disk(name, number.value_or("")));
  }
}

}  // namespace gpuready
