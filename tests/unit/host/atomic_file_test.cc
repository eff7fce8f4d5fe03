// A file that is made piece by piece is whole or not there, however its writer ends.
#include "host/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

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

}  // namespace
}  // namespace gpuready
