// Real claims of this machine's disks: an exclusive open for reading, which changes nothing.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "../../fake_drivers/ask_fake.h"
#include "base/descriptor.h"
#include "base/text.h"
#include "host/host.h"

namespace gpuready {
namespace {

int claimed(const std::string& name) {
  const auto document = testing::ask_fake("disk-claims", {name});
  const auto* answer = document.find("claim(" + name + ")");
  return answer ? answer->code : -1;
}

// What an exclusive open of a mounted disk ends with: EBUSY, where this user may open disks.
int refusal_of(const std::string& name) {
  const Descriptor disk(open(("/dev/" + name).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  return disk ? EBUSY : errno;
}

// A disk that is mounted here, and its number.
std::optional<std::pair<std::string, dev_t>> mounted_disk() {
  const auto host = make_live_host();
  const auto mounts = host->read_text("/proc/self/mounts").value_or("");
  for (const auto line : lines(mounts)) {
    const auto node = after_prefix(split(line, " ").front(), "/dev/");
    struct stat status = {};
    if (node && stat(("/dev/" + std::string(*node)).c_str(), &status) == 0 &&
        S_ISBLK(status.st_mode) && host->exists("/sys/class/block/" + std::string(*node)))
      return std::pair(std::string(*node), status.st_rdev);
  }
  return std::nullopt;
}

TEST(DiskClaims, AnAbsentDiskIsNotFound) { EXPECT_EQ(claimed("no-such-disk"), ENOENT); }

TEST(DiskClaims, ANodeThatIsNoDiskIsNone) { EXPECT_EQ(claimed("null"), ENODEV); }

TEST(DiskClaims, AMountedDiskIsRefused) {
  const auto disk = mounted_disk();
  if (!disk) GTEST_SKIP() << "no disk is mounted";
  EXPECT_EQ(claimed(disk->first), refusal_of(disk->first));
}

// In a mount namespace of the test's own, /dev holds another node under the disk's name.
TEST(DiskClaims, AnotherNodeUnderTheDisksNameIsNoDisk) {
  const auto disk = mounted_disk();
  if (!disk || geteuid() != 0) GTEST_SKIP() << "no mounted disk, or not root";
  const auto in_own_dev = [&](mode_t type, dev_t number) {
    const pid_t process = fork();
    if (process == 0) {
      const auto path = "/dev/" + disk->first;
      const bool made =
          unshare(CLONE_NEWNS) == 0 &&
          mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
          mount("none", "/dev", "tmpfs", 0, nullptr) == 0 &&
          (std::filesystem::create_directories(std::filesystem::path(path).parent_path()),
           mknod(path.c_str(), type | 0600, number) == 0) &&
          mknod("/dev/null", S_IFCHR | 0666, makedev(1, 3)) == 0;
      _exit(made ? claimed(disk->first) : 255);
    }
    int status = 0;
    waitpid(process, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  if (in_own_dev(S_IFBLK, disk->second) == 255) GTEST_SKIP() << "no mount namespace here";
  EXPECT_EQ(in_own_dev(S_IFBLK, disk->second), refusal_of(disk->first));
  EXPECT_EQ(in_own_dev(S_IFCHR, disk->second), ENODEV);
  EXPECT_EQ(in_own_dev(S_IFBLK, makedev(major(disk->second), minor(disk->second) + 200)), ENODEV);
}

}  // namespace
}  // namespace gpuready
