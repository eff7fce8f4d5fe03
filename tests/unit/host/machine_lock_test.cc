#include "host/locks/machine_lock.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "unit/test_folder.h"

namespace gpuready {
namespace {

TEST(MachineLock, IsHeldByOneOnAFileThatAllMayReadAndThatStays) {
  const TestFolder folder;
  const auto path = folder.path("lock");
  {
    const auto mask = ::umask(077);
    const auto held = MachineLock::take(path);
    ::umask(mask);
    ASSERT_TRUE(held) << held.error().message;
    struct stat facts{};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, 0444u);
    EXPECT_EQ(facts.st_size, 0);
    const auto second = MachineLock::take(path);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::busy);
    EXPECT_EQ(second.error().message, path + ": another process holds this lock");
  }
  EXPECT_EQ(folder.count(), 1u);
  EXPECT_TRUE(MachineLock::take(path));
}

TEST(MachineLock, AnyFileWillDoAndNothingElse) {
  const TestFolder folder;
  folder.write("file", "content");
  EXPECT_TRUE(MachineLock::take(folder.path("file")));
  EXPECT_EQ(folder.read("file"), "content");
  ASSERT_EQ(::symlink("file", folder.path("link").c_str()), 0);
  ASSERT_EQ(::symlink("none", folder.path("to_none").c_str()), 0);
  ASSERT_EQ(::mkfifo(folder.path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(MachineLock::take(folder.path("link")).error().code, ELOOP);
  EXPECT_EQ(MachineLock::take(folder.path("to_none")).error().code, ELOOP);
  EXPECT_EQ(MachineLock::take(folder.path("none/lock")).error().code, ENOENT);
  for (const auto& path : {folder.path(), folder.path("fifo")}) {
    const auto taken = MachineLock::take(path);
    ASSERT_FALSE(taken) << path;
    EXPECT_EQ(taken.error().message, path + ": not a file");
  }
}

}  // namespace
}  // namespace gpuready
