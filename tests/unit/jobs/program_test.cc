// Which program root runs, and which variables programs of others get.
#include "jobs/program.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/text.h"
#include "jobs/job.h"
#include "jobs/trusted_path.h"
#include "jobs/variables.h"

namespace gpuready {
namespace {

namespace fs = std::filesystem;
constexpr uid_t kAnother = 4711;

class Folder {
 public:
  Folder() { EXPECT_NE(::mkdtemp(path.data()), nullptr); }
  ~Folder() { fs::remove_all(path); }
  // A program that tells its folder.
  std::string program(const std::string& below, const std::string& name) const {
    fs::create_directories(path + "/" + below);
    const std::string file = path + "/" + below + "/" + name;
    std::ofstream(file) << "#!/bin/sh\necho " << below << "\n";
    ::chmod(file.c_str(), 0755);
    return file;
  }
  std::string path = std::string(GPUREADY_BINARY_DIR) + "/programXXXXXX";
};

// Sets PATH for as long as it lives.
class Path {
 public:
  explicit Path(const std::string& value) { ::setenv("PATH", value.c_str(), 1); }
  ~Path() { ::setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_ = std::getenv("PATH");
};

std::string why_not(const std::string& path) {
  const auto ours = check_only_ours(path);
  return ours ? std::string() : ours.error().message;
}

TEST(TrustedPath, NamesWhatAnotherUserMayWrite) {
  const Folder folder;
  if (!why_not(folder.path).empty()) GTEST_SKIP() << "built where others may write";
  const std::string program = folder.program("a/b", "tool");
  EXPECT_EQ(why_not(program), "");
  for (const mode_t mode : {0777, 0757, 0707}) {
    ::chmod(program.c_str(), mode);
    EXPECT_TRUE(contains(why_not(program), "/a/b/tool may be written by all users")) << mode;
  }
  ::chmod(program.c_str(), 0755);
  ::chmod((folder.path + "/a").c_str(), 0777);
  EXPECT_TRUE(contains(why_not(program), "/a may be written by all users")) << why_not(program);
  ::chmod((folder.path + "/a").c_str(), 01777);  // as /tmp: what is in it can only its owner move
  EXPECT_EQ(why_not(program), "");
  EXPECT_TRUE(contains(why_not(folder.path + "/none"), "/none"));
}

TEST(TrustedPath, FollowsLinksToTheirEnd) {
  const Folder folder;
  if (!why_not(folder.path).empty()) GTEST_SKIP() << "built where others may write";
  folder.program("open", "tool");
  ::chmod((folder.path + "/open").c_str(), 0777);
  fs::create_directories(folder.path + "/closed");
  for (const char* target : {"../open/tool", "./../closed/../open/tool"}) {
    const std::string link = folder.path + "/closed/link";
    fs::remove(link);
    fs::create_symlink(target, link);
    EXPECT_TRUE(contains(why_not(link), "/open may be written by all users")) << why_not(link);
  }
  fs::create_symlink(folder.path + "/open", folder.path + "/closed/folder");
  EXPECT_NE(why_not(folder.path + "/closed/folder/tool"), "");
  // What is above the root is the root, not where the link is.
  fs::create_symlink("/.." + folder.path + "/open/tool", folder.path + "/closed/above_root");
  EXPECT_TRUE(contains(why_not(folder.path + "/closed/above_root"), "/open may be written"));
  fs::create_symlink("loop", folder.path + "/closed/loop");
  EXPECT_NE(why_not(folder.path + "/closed/loop"), "");
}

// As the kernel does: the fortieth link is followed, the next is not.
TEST(TrustedPath, FollowsFortyLinks) {
  const Folder folder;
  if (!why_not(folder.path).empty()) GTEST_SKIP() << "built where others may write";
  std::string target = folder.program("a", "tool");
  for (int i = 1; i <= 41; ++i) {
    const std::string link = folder.path + "/link" + std::to_string(i);
    fs::create_symlink(target, link);
    EXPECT_EQ(why_not(link).empty(), i <= 40) << i << why_not(link);
    target = link;
  }
}

// The folders above the current one count as well, and those above them.
TEST(TrustedPath, ARelativePathBeginsInTheCurrentFolder) {
  const Folder folder;
  if (!why_not(folder.path).empty()) GTEST_SKIP() << "built where others may write";
  folder.program("above/here", "tool");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path + "/above/here");
  for (const char* path : {"tool", "../here/tool"}) {
    EXPECT_EQ(why_not(path), "");
    ::chmod((folder.path + "/above").c_str(), 0777);
    EXPECT_TRUE(contains(why_not(path), "/above may be written by all users")) << why_not(path);
    ::chmod((folder.path + "/above").c_str(), 0755);
  }
  fs::current_path(before);
}

// Others can move the current folder of theirs: then ".." is another one.
TEST(TrustedPath, WhatIsAboveAnothersFolderIsNotFixed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const Folder folder;
  fs::create_directories(folder.path + "/theirs/ours");
  const auto fixed_from = [&](const char* current) {
    fs::current_path(folder.path + current);
    return walk_to("..", LastLink::follow)->fixed;
  };
  const fs::path before = fs::current_path();
  EXPECT_TRUE(fixed_from("/theirs"));
  EXPECT_TRUE(fixed_from("/theirs/ours"));
  ASSERT_EQ(::lchown((folder.path + "/theirs").c_str(), kAnother, kAnother), 0);
  EXPECT_FALSE(fixed_from("/theirs"));
  EXPECT_FALSE(fixed_from("/theirs/ours"));
  fs::current_path(before);
}

TEST(TrustedPath, TheOverflowUserIsAUserUnlessTheNamespaceHasNone) {
  EXPECT_TRUE(can_be_overflow_user("         0          0 4294967295\n"));
  EXPECT_TRUE(can_be_overflow_user("0 100000 65535\n"));
  EXPECT_FALSE(can_be_overflow_user("0 100000 65534\n"));
  EXPECT_FALSE(can_be_overflow_user("         0       1000          1\n"));
  EXPECT_TRUE(can_be_overflow_user("0 1000 1\n65534 200000 1\n"));
  EXPECT_FALSE(can_be_overflow_user("0 1000 1\n65535 200000 1\n\n"));
  EXPECT_FALSE(can_be_overflow_user(""));
  EXPECT_FALSE(can_be_overflow_user("x 0 4294967295\n"));
  EXPECT_FALSE(can_be_overflow_user("0 0 x\n"));

  std::ifstream map("/proc/self/uid_map");
  const std::string text(std::istreambuf_iterator<char>(map), {});
  if (::geteuid() != 0 || !can_be_overflow_user(text)) GTEST_SKIP() << "no such user here";
  const Folder folder;
  const std::string program = folder.program("a", "tool");
  ASSERT_EQ(::lchown(program.c_str(), kOverflowUser, kOverflowUser), 0);
  EXPECT_TRUE(contains(why_not(program), "belongs to user 65534")) << why_not(program);
}

TEST(TrustedPath, KnowsAnotherUsersFiles) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const Folder folder;
  const std::string program = folder.program("a/b", "tool");
  for (const char* part : {"/a/b/tool", "/a/b", "/a"}) {
    const std::string path = folder.path + part;
    ASSERT_EQ(::lchown(path.c_str(), kAnother, kAnother), 0);
    EXPECT_TRUE(contains(why_not(program), std::string(part) + " belongs to user 4711")) << part;
    ASSERT_EQ(::lchown(path.c_str(), 0, kAnother), 0);
    ::chmod(path.c_str(), 0775);
    EXPECT_TRUE(contains(why_not(program), "may be written by group 4711")) << part;
    ::chmod(path.c_str(), 0755);
  }
  EXPECT_EQ(why_not(program), "");
  // In a folder as /tmp others can rename what leads there, so root follows no link in it.
  fs::create_directories(folder.path + "/tmp");
  ::chmod((folder.path + "/tmp").c_str(), 01777);
  const std::string link = folder.path + "/tmp/link";
  fs::create_symlink(program, link);
  EXPECT_NE(why_not(link), "");
  ASSERT_EQ(::lchown(link.c_str(), kAnother, kAnother), 0);
  EXPECT_NE(why_not(link), "");
}

// With private groups and umask 002 all of a user's folders are like that; root's group is not
// private.
TEST(TrustedPath, OnlyAnOrdinaryUsersOwnGroupMayWrite) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  const Folder folder;
  ::chmod(folder.path.c_str(), 0755);
  const std::string program = folder.program("a", "tool");
  const auto why_not_for = [&](uid_t user, gid_t group, mode_t mode) {
    EXPECT_EQ(::lchown(program.c_str(), user, group), 0);
    ::chmod(program.c_str(), mode);
    const gid_t before = ::getegid();
    EXPECT_EQ(::setegid(user) | ::seteuid(user), 0);
    const auto why = why_not(program);
    EXPECT_EQ(::seteuid(0) | ::setegid(before), 0);
    return why;
  };
  if (!why_not_for(kAnother, kAnother, 0755).empty()) GTEST_SKIP() << "closed to other users";
  EXPECT_EQ(why_not_for(kAnother, kAnother, 0775), "");
  EXPECT_EQ(why_not_for(kAnother, kAnother + 1, 0755), "");
  for (const auto& [user, group] : {std::pair(kAnother, kAnother + 1), {0u, 0u}})
    EXPECT_TRUE(contains(why_not_for(user, group, 0775),
                         "/a/tool may be written by group " + std::to_string(group)))
        << user;
  EXPECT_TRUE(contains(why_not_for(kAnother, kAnother, 0777), "may be written by all users"));
}

TEST(Program, RootPassesOverWhatOthersCouldHavePut) {
  const Folder folder;
  if (!why_not(folder.path).empty()) GTEST_SKIP() << "built where others may write";
  folder.program("open", "tool");
  const std::string ours = folder.program("ours", "tool");
  ::chmod((folder.path + "/open").c_str(), 0777);
  const bool root = ::geteuid() == 0;
  {
    const Path path(folder.path + "/open:" + folder.path + "/ours:/bin");
    const auto found = find_program("tool");
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, root ? ours : folder.path + "/open/tool") << "others run their own PATH";
    EXPECT_EQ(only_our_folders(folder.path + "/open:.::" + folder.path + "/ours"),
              root ? folder.path + "/ours" : folder.path + "/open:.::" + folder.path + "/ours");
    EXPECT_EQ(*find_program(folder.path + "/open/tool"), folder.path + "/open/tool")
        << "a path is its caller's";
  }
  const Path path(folder.path + "/open");
  const auto found = find_program("tool");
  ASSERT_EQ(found.has_value(), !root);
  if (!root) return;
  EXPECT_EQ(found.error().kind, ErrorKind::no_permission);
  EXPECT_TRUE(contains(found.error().message, "/open may be written by all users"))
      << found.error().message;
  Job job;
  job.program = "tool";
  EXPECT_FALSE(run_job(job));
}

TEST(Variables, ProgramsOfOthersGetNoSecretsAndNothingThatLoadsCode) {
  for (const char* name : {"AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "HF_TOKEN", "SSH_AUTH_SOCK",
                           "LD_PRELOAD", "LD_AUDIT", "GPUREADY_OCI_TOKEN", "SUDO_UID", "PYTHONPATH",
                           "GIT_DIR", "BASH_ENV", "XDG_RUNTIME_DIR", "PATHX", ""})
    EXPECT_FALSE(is_basic_variable(name)) << name;
  for (const char* name : {"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH"})
    EXPECT_TRUE(is_basic_variable(name)) << name;
}

TEST(Variables, AChildGetsWhatItsJobKeeps) {
  ::setenv("AWS_SECRET_ACCESS_KEY", "hidden", 1);
  Job job;
  job.program = "/usr/bin/env";
  job.keeps = is_basic_variable;
  job.env = {{"GIVEN", "1"}, {"HOME", std::nullopt}};
  const auto outcome = run_job(job);
  ::unsetenv("AWS_SECRET_ACCESS_KEY");
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(contains(outcome->out, "hidden")) << outcome->out;
  EXPECT_TRUE(contains(outcome->out, "GIVEN=1\n"));
  EXPECT_TRUE(contains(outcome->out, "PATH="));
  EXPECT_FALSE(contains(outcome->out, "HOME="));
}

}  // namespace
}  // namespace gpuready
