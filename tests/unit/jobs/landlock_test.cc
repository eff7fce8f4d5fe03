// What a confined process can still do, asked of the kernel.
#include "jobs/landlock.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "unit/device/in_child.h"
#include "unit/test_folder.h"

namespace gpuready {
namespace {

namespace fs = std::filesystem;

class Landlock : public testing::Test {
 protected:
  void SetUp() override {
    constexpr long kCreateRuleset = 444, kVersionOnly = 1;
    if (syscall(kCreateRuleset, nullptr, 0, kVersionOnly) < 1)
      GTEST_SKIP() << "the kernel has no Landlock";
    for (const char* folder : {"hidden/shown", "other", "written", "own"})
      fs::create_directories(at(folder));
    for (const char* file : {"hidden/secret", "hidden/shown/file", "other/file", "written/file"})
      std::ofstream(at(file)) << "text";
  }
  std::string at(const std::string& name) const { return folder_.path(name); }

  // "yes" if `attempt` succeeds in a process that is confined so, else why not.
  std::string confined(const std::function<bool()>& attempt) const {
    return in_child_with({}, [&] {
      confine({.writable = {at("written"), at("missing")},
               .own = {at("own")},
               .readable = {at("hidden/shown")},
               .hidden = at("hidden")});
      return std::string(attempt() ? "yes" : errno == EACCES ? "refused" : std::strerror(errno));
    });
  }
  std::string opens(const std::string& name, int flags) const {
    return confined([&] { return open(at(name).c_str(), flags | O_CLOEXEC, 0600) >= 0; });
  }
  std::string lists(const std::string& name) const {
    return confined([&] { return opendir(at(name).c_str()) != nullptr; });
  }

 private:
  TestFolder folder_;
};

TEST_F(Landlock, ReadsAllButWhatIsHidden) {
  EXPECT_EQ(opens("other/file", O_RDONLY), "yes");
  EXPECT_EQ(lists("other"), "yes");
  EXPECT_EQ(opens("hidden/secret", O_RDONLY), "refused");
  EXPECT_EQ(lists("hidden"), "refused");
  EXPECT_EQ(opens("hidden/shown/file", O_RDONLY), "yes");
  EXPECT_EQ(lists("hidden/shown"), "yes");
}

TEST_F(Landlock, WritesOnlyBelowWhatIsNamed) {
  EXPECT_EQ(opens("written/file", O_WRONLY), "yes");
  EXPECT_EQ(opens("other/file", O_WRONLY), "refused");
  EXPECT_EQ(opens("hidden/shown/file", O_WRONLY), "refused");
}

TEST_F(Landlock, MakesAndRemovesOnlyInItsOwnFolder) {
  EXPECT_EQ(opens("own/file", O_WRONLY | O_CREAT), "yes");
  EXPECT_EQ(confined([&] { return unlink(at("own/file").c_str()) == 0; }), "yes");
  EXPECT_EQ(opens("written/new", O_WRONLY | O_CREAT), "refused");
  EXPECT_EQ(confined([&] { return unlink(at("written/file").c_str()) == 0; }), "refused");
  EXPECT_EQ(confined([&] { return mkdir(at("other/new").c_str(), 0700) == 0; }), "refused");
}

}  // namespace
}  // namespace gpuready
