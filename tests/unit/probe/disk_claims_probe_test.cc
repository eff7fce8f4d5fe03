// Real claims of block devices. The names lead out of /sys/class/block and /dev, to a number and a
// node of the test's own: '!' is a slash in the node's path only.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "../../fake_drivers/ask_fake.h"
#include "base/descriptor.h"

namespace gpuready {
namespace {

constexpr unsigned kNoDriver = 4000;  // no driver has this major number
constexpr unsigned kLoop = 7;         // Linux, Documentation/admin-guide/devices.txt

class DiskClaimsProbe : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/gpuready-disks-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::filesystem::create_directory(folder_ + "/disk");
    std::filesystem::create_directory(folder_ + "/disk!node");
    if (!std::filesystem::exists("/sys/class/block")) GTEST_SKIP() << "no block devices here";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string node() const { return folder_ + "/disk/node"; }
  bool make_node(mode_t type, unsigned major, unsigned minor) {
    unlink(node().c_str());
    return mknod(node().c_str(), type | 0600, makedev(major, minor)) == 0;
  }
  Descriptor hold() const {
    return Descriptor(open(node().c_str(), O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC));
  }
  // The answer for a disk that has this number in sysfs.
  int claim(const std::string& number) const {
    std::ofstream(folder_ + "/disk!node/dev") << number << "\n";
    const auto name = "../../.." + folder_ + "/disk!node";
    const auto document = testing::ask_fake("disk-claims", {name});
    const auto* call = document.find("claim(" + name + ")");
    EXPECT_NE(call, nullptr);
    return call ? call->code : -1;
  }

 private:
  std::string folder_;
};

// open(2): the kernel grants one exclusive open of a block device.
TEST_F(DiskClaimsProbe, AFreeDiskIsGrantedAndAHeldOneIsBusy) {
  constexpr unsigned kLoops = 8;
  for (unsigned i = 0; i < kLoops; ++i) {
    const unsigned minor = (static_cast<unsigned>(getpid()) + i) % kLoops;
    if (!make_node(S_IFBLK, kLoop, minor)) break;
    auto held = hold();
    if (!held) continue;
    const auto number = std::to_string(kLoop) + ":" + std::to_string(minor);
    EXPECT_EQ(claim(number), EBUSY);
    held.close();
    EXPECT_EQ(claim(number), 0);
    return;
  }
  GTEST_SKIP() << "no loop device that may be opened";
}

TEST_F(DiskClaimsProbe, ADiskThatDoesNotOpenIsNotClaimed) {
  if (!make_node(S_IFBLK, kNoDriver, 5)) GTEST_SKIP() << "only root may make device nodes";
  const int refused = hold() ? 0 : errno;  // ENXIO, or what a container's rules answer
  EXPECT_NE(refused, 0);
  EXPECT_EQ(claim("4000:5"), refused);
}

TEST_F(DiskClaimsProbe, WhatIsNotTheDiskOfThatNumberIsNoDevice) {
  EXPECT_EQ(claim("4000:5"), ENOENT);
  std::ofstream(node()) << "a file";
  EXPECT_EQ(claim("0:0"), ENODEV);
  if (!make_node(S_IFCHR, kNoDriver, 5)) GTEST_SKIP() << "only root may make device nodes";
  EXPECT_EQ(claim("4000:5"), ENODEV);
  ASSERT_TRUE(make_node(S_IFBLK, kNoDriver, 5));
  for (const char* number : {"4000:6", "4001:5", "5:4000", "4000:", ""})
    EXPECT_EQ(claim(number), ENODEV) << number;
}

}  // namespace
}  // namespace gpuready
