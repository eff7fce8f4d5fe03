// A file that is made piece by piece is whole or not there, however its writer ends.
#include "host/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "unit/host/storage_walk.h"

namespace gpuready {
namespace {

class AtomicFiles : public testing::Test {
 protected:
  ~AtomicFiles() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }
  std::string content(const char* name) const {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string template_ = (std::filesystem::temp_directory_path() / "atomicXXXXXX").string();
  std::filesystem::path folder_ = ::mkdtemp(template_.data());
};

TEST_F(AtomicFiles, ReplaceTheOldOneAtOnce) {
  std::ofstream(path("f")) << "old";
  auto file = AtomicFile::create(path("f"));
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write("ne"));
  ASSERT_TRUE(file->write("w"));
  EXPECT_EQ(content("f"), "old");
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(content("f"), "new");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFiles, WithoutACommitLeaveNothing) {
  {
    auto file = AtomicFile::create(path("f"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("half"));
  }
  EXPECT_EQ(files(), 0);
}

TEST_F(AtomicFiles, OfAKilledWriterLeaveNothing) {
  const int nameless = ::open(path(".").c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (nameless < 0) GTEST_SKIP() << "this filesystem has no files without a name";
  ::close(nameless);
  const pid_t child = ::fork();
  if (child == 0) {
    auto file = AtomicFile::create(path("f"));
    if (file && file->write("half")) ::raise(SIGKILL);
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(files(), 0);
}

TEST_F(AtomicFiles, KeepTheModeOfTheOldOneUnlessTheyArePrivate) {
  std::ofstream(path("f")) << "old";
  ASSERT_EQ(::chmod(path("f").c_str(), 0644), 0);
  const auto mode = [&](const char* name) { return live_storage().status(path(name))->mode; };
  ASSERT_TRUE(write_file_atomically(path("f"), "new"));
  EXPECT_EQ(mode("f"), 0644u);
  ASSERT_TRUE(write_file_atomically(path("f"), "new", {.private_to_user = true}));
  EXPECT_EQ(mode("f"), 0600u);
  ASSERT_TRUE(write_file_atomically(path("g"), "new", {.private_to_user = true}));
  EXPECT_EQ(mode("g"), 0600u);
  const mode_t mask = ::umask(027);
  ASSERT_TRUE(write_file_atomically(path("h"), "new"));
  ::umask(mask);
  EXPECT_EQ(mode("h"), 0640u);
}

TEST_F(AtomicFiles, KeepTheOwnerAndAttributesOfTheOldOneIfAsked) {
  std::ofstream(path("f")) << "old";
  ASSERT_EQ(::chmod(path("f").c_str(), 0640), 0);
  const bool given = ::geteuid() != 0 || ::chown(path("f").c_str(), 1234, 2345) == 0;
  ASSERT_TRUE(given);
  const bool has = ::setxattr(path("f").c_str(), "user.a", "b", 1, 0) == 0;
  const auto before = *live_storage().status(path("f"));
  ASSERT_TRUE(write_file_atomically(path("f"), "new", {.keep_owner = true}));
  const auto after = *live_storage().status(path("f"));
  EXPECT_EQ(content("f"), "new");
  EXPECT_EQ(after.uid, before.uid);
  EXPECT_EQ(after.gid, before.gid);
  EXPECT_EQ(after.mode, 0640u);
  char value = 0;
  EXPECT_TRUE(!has || (::getxattr(path("f").c_str(), "user.a", &value, 1) == 1 && value == 'b'));
  ASSERT_TRUE(write_file_atomically(path("new"), "new", {.keep_owner = true}));
}

TEST_F(AtomicFiles, FollowALinkAndReplaceNoDevice) {
  std::ofstream(path("f")) << "old";
  ASSERT_EQ(::symlink("f", path("link").c_str()), 0);
  ASSERT_TRUE(write_file_atomically(path("link"), "new"));
  EXPECT_EQ(content("f"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(write_file_atomically(path("pipe"), "new"));
  EXPECT_FALSE(write_file_atomically(path("."), "new"));
}

// Whatever the moment at which somebody makes the file, it is theirs.
TEST(AtomicFile, MadeMeanwhileBySomebodyElseStays) {
  for (const auto& unsupported : kPoorFilesystems)
    for (std::size_t at = 1;; ++at) {
      MemoryPlace place;
      place.reset(std::nullopt);
      FailingStorage storage(place.storage(), {}, unsupported);
      bool looked_up_last = false;
      storage.before_call = [&](StorageCall call) {
        if (storage.calls() != at) return;
        looked_up_last = call == StorageCall::rename;
        const auto theirs = place.storage().create(place.target(), 0600);
        if (theirs) {
          ASSERT_TRUE((*theirs)->write("theirs"));
        }
      };
      const auto written =
          write_file_atomically(place.target(), "ours", {.on_existing = OnExisting::fail}, storage);
      if (storage.calls() < at) {
        EXPECT_TRUE(written);
        break;
      }
      SCOPED_TRACE("call " + std::to_string(at));
      // Without links and without a rename that refuses there is a moment that nobody can close.
      if (looked_up_last) continue;
      const bool ours_was_first = written.has_value();
      EXPECT_EQ(place.content(), ours_was_first ? "ours" : "theirs");
      if (!written) {
        EXPECT_EQ(written.error().code, EEXIST);
      }
      EXPECT_EQ(place.names(), std::vector<std::string>{"target"});
    }
}

TEST(AtomicFile, IsWholeOrUntouchedWhateverFails) {
  walk_storage([](Storage& storage, const std::string& path) -> Result<void> {
    auto file = TRY(AtomicFile::create(path, {}, storage));
    TRY(file.write("the new "));
    TRY(file.write("file"));
    return file.commit();
  });
}

}  // namespace
}  // namespace gpuready
