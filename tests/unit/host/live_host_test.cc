#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/text.h"
#include "host/files_read.h"
#include "host/host.h"
#include "host/probe_children.h"

namespace gpuready {
namespace {

class LiveHostTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/gpuready-live-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
  }
  void TearDown() override { std::system(("rm -rf " + folder).c_str()); }
  std::string write(const std::string& name, std::string_view text, mode_t mode = 0644) {
    std::ofstream(folder + "/" + name, std::ios::binary) << text;
    chmod((folder + "/" + name).c_str(), mode);
    return folder + "/" + name;
  }
  std::string folder;
  std::unique_ptr<Host> host = make_live_host();
};

TEST_F(LiveHostTest, ReadsBytesVerbatim) {
  const std::string bytes("a\0b\xff\n", 5);
  EXPECT_EQ(host->read_file(write("f", bytes)), bytes);
}

TEST_F(LiveHostTest, ReadsFilesWhoseSizeIsToldAsZero) {
  const auto text = host->read_file("/proc/self/status");
  ASSERT_TRUE(text);
  EXPECT_TRUE(contains(*text, "Pid:"));
}

// A renamed file looks like a new one that got the inode number of a removed one.
TEST_F(LiveHostTest, OnlyAFileThatIsStillThereCountsAsRead) {
  const auto path = write("f", "text");
  struct stat file{};
  ASSERT_EQ(stat(path.c_str(), &file), 0);
  EXPECT_FALSE(FilesRead::of_process().contains(file));
  ASSERT_TRUE(host->read_file(path));
  EXPECT_TRUE(FilesRead::of_process().contains(file));
  std::filesystem::rename(path, folder + "/new");
  EXPECT_FALSE(FilesRead::of_process().contains(file));
  ASSERT_TRUE(host->read_file(folder + "/new"));
  EXPECT_TRUE(FilesRead::of_process().contains(file));
}

TEST_F(LiveHostTest, LimitIsToldNotCut) {
  const auto path = write("f", std::string(100, 'x'));
  EXPECT_EQ(host->read_file(path, 100)->size(), 100u);
  const auto cut = host->read_file(path, 99);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().kind, ErrorKind::too_large);
}

TEST_F(LiveHostTest, AbsentFileIsNotFound) {
  const auto text = host->read_file(folder + "/none");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().kind, ErrorKind::not_found);
  EXPECT_EQ(text.error().code, ENOENT);
}

TEST_F(LiveHostTest, FifoNeitherBlocksNorReads) {
  const auto path = folder + "/fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const auto text = host->read_file(path);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().kind, ErrorKind::unsupported);
}

TEST_F(LiveHostTest, DevicesAndFoldersAreNotRead) {
  EXPECT_FALSE(host->read_file("/dev/zero"));
  EXPECT_FALSE(host->read_file(folder));
}

TEST_F(LiveHostTest, EmbeddedNulIsNoOtherFile) {
  write("f", "secret");
  EXPECT_FALSE(host->read_file(folder + "/f" + std::string("\0x", 2)));
}

TEST_F(LiveHostTest, ListsSortedWithoutDots) {
  for (const char* name : {"b", "a", ".hidden", "c"}) write(name, "");
  EXPECT_EQ(host->list_directory(folder), (std::vector<std::string>{".hidden", "a", "b", "c"}));
  EXPECT_EQ(host->list_directory(folder + "/none").error().kind, ErrorKind::not_found);
}

TEST_F(LiveHostTest, LinksAreReadAndResolved) {
  const auto target = write("target", "x");
  ASSERT_EQ(symlink("target", (folder + "/link").c_str()), 0);
  EXPECT_EQ(host->read_link(folder + "/link"), "target");
  EXPECT_EQ(host->real_path(folder + "/link"), target);
  EXPECT_FALSE(host->read_link(target));
}

TEST_F(LiveHostTest, StatusIsOfTheTarget) {
  write("target", "12345", 0640);
  ASSERT_EQ(symlink("target", (folder + "/link").c_str()), 0);
  const auto status = host->status(folder + "/link");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->kind, FileKind::regular);
  EXPECT_EQ(status->mode, 0640u);
  EXPECT_EQ(status->uid, geteuid());
  EXPECT_EQ(status->size_bytes, 5u);
  const auto null = host->status("/dev/null");
  ASSERT_TRUE(null);
  EXPECT_EQ(null->kind, FileKind::character_device);
  EXPECT_EQ(null->device_major, 1u);
  EXPECT_EQ(null->device_minor, 3u);
}

TEST_F(LiveHostTest, MayOpenTellsWhetherOpeningIsPermitted) {
  EXPECT_TRUE(host->may_open("/dev/null"));
  EXPECT_EQ(host->may_open(folder + "/none").error().kind, ErrorKind::not_found);
}

// mount(8): on a file system that is mounted nodev no device can be opened.
TEST_F(LiveHostTest, NothingIsOpenedAsADeviceWhereNodevForbidsIt) {
  constexpr int kNoMounts = 99;
  const auto code_where = [&](unsigned long flags) {
    const auto child = fork();
    if (child == 0) {
      if (unshare(CLONE_NEWNS) != 0 ||
          mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
          mount("none", folder.c_str(), "tmpfs", flags, nullptr) != 0)
        _exit(kNoMounts);
      const auto opened = host->may_open(write("node", ""));
      _exit(opened ? 0 : opened.error().code);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  const int code = code_where(MS_NODEV);
  if (code == kNoMounts) GTEST_SKIP() << "nothing can be mounted here";
  EXPECT_EQ(code, EACCES);
  EXPECT_EQ(code_where(0), 0);
}

TEST_F(LiveHostTest, SpaceIsPlausible) {
  const auto space = host->space("/");
  ASSERT_TRUE(space);
  EXPECT_GT(space->total_bytes, 1u << 20);
  EXPECT_LE(space->available_bytes, space->total_bytes);
}

TEST_F(LiveHostTest, IdentityIsOurs) {
  const auto identity = host->identity();
  ASSERT_TRUE(identity);
  utsname names{};
  ASSERT_EQ(uname(&names), 0);
  EXPECT_EQ(identity->kernel_name, "Linux");
  EXPECT_EQ(identity->kernel_release, names.release);
  EXPECT_EQ(identity->machine, names.machine);
  EXPECT_EQ(identity->host_name, names.nodename);
  EXPECT_EQ(identity->effective_uid, geteuid());
  ASSERT_FALSE(identity->groups.empty());
  EXPECT_EQ(identity->groups[0], getegid());
  EXPECT_GT(identity->unix_seconds, 1'700'000'000);
}

// In a process of its own, which takes other groups.
TEST_F(LiveHostTest, IdentityHasEachGroupOnceAndTheEffectiveOneFirst) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may change its groups";
  const auto child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const gid_t groups[] = {71, 72, 73};
    if (setgroups(3, groups) != 0 || setegid(72) != 0) _exit(2);
    const auto identity = host->identity();
    _exit(identity && identity->groups == std::vector<std::uint32_t>{72, 71, 73} ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "the groups cannot be changed here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(LiveHostTest, EnvironmentTellsAbsentFromEmpty) {
  setenv("GPUREADY_TEST_EMPTY", "", 1);
  unsetenv("GPUREADY_TEST_ABSENT");
  EXPECT_EQ(host->environment("GPUREADY_TEST_EMPTY"), "");
  EXPECT_EQ(host->environment("GPUREADY_TEST_ABSENT"), std::nullopt);
}

TEST_F(LiveHostTest, KernelLogIsLinesOrAnErrorWithACure) {
  const auto log = host->kernel_log();
  if (!log) {
    EXPECT_EQ(log.error().kind, ErrorKind::no_permission);
    EXPECT_TRUE(contains(log.error().message, "dmesg_restrict"));
    return;
  }
  for (const auto line : lines(*log))
    EXPECT_TRUE(parse_double(line.substr(0, line.find(' ')))) << line;
}

class ProbesInChildren : public LiveHostTest {
 protected:
  void TearDown() override {
    unsetenv("GPUREADY_HELPER");
    LiveHostTest::TearDown();
  }
  ProbeDocument ask(const std::string& script, int timeout_ms = 5000) {
    const auto helper = write("helper", "#!/bin/sh\n" + script, 0755);
    ProbeRequest request;
    request.probe = "nvml";
    request.args = {"0000:17:00.0"};
    request.timeout = std::chrono::milliseconds(timeout_ms);
    setenv("GPUREADY_HELPER", helper.c_str(), 1);
    return probe_in_children({request})[0];
  }
  static constexpr const char* kHello = "echo '{\"probe\":\"nvml\",\"version\":1}' >&3\n";
  static constexpr const char* kBegin = "echo '{\"call\":\"nvmlInit_v2()\"}' >&3\n";
  static constexpr const char* kEnd = "echo '{\"end\":true}' >&3\n";
};

TEST_F(ProbesInChildren, PassesTheArguments) {
  const auto document =
      ask("echo \"{\\\"call\\\":\\\"$*\\\",\\\"code\\\":0}\" >&3\n" + std::string(kEnd));
  EXPECT_EQ(document.outcome, ProbeOutcome::completed);
  EXPECT_NE(document.find("__probe nvml 0000:17:00.0"), nullptr);
}

TEST_F(ProbesInChildren, CrashNamesSignalAndCall) {
  const auto document = ask(std::string(kHello) + kBegin + "kill -SEGV $$\n");
  EXPECT_EQ(document.outcome, ProbeOutcome::crashed);
  EXPECT_EQ(document.signal, 11);
  EXPECT_EQ(document.stopped_in, "nvmlInit_v2()");
}

TEST_F(ProbesInChildren, DeadlineNamesTheCall) {
  const auto document = ask(std::string(kHello) + kBegin + "sleep 30\n", 200);
  EXPECT_EQ(document.outcome, ProbeOutcome::timed_out);
  EXPECT_EQ(document.stopped_in, "nvmlInit_v2()");
}

TEST_F(ProbesInChildren, ExitWithoutEndIsACrashWithoutSignal) {
  const auto document = ask(std::string(kHello) + "echo why >&2; exit 3\n");
  EXPECT_EQ(document.outcome, ProbeOutcome::crashed);
  EXPECT_EQ(document.signal, 0);
  EXPECT_TRUE(contains(document.library_error, "exited with 3"));
  EXPECT_TRUE(contains(document.library_error, "why"));
}

TEST_F(ProbesInChildren, WhatCameBeforeACrashInExitHandlersCounts) {
  const auto document = ask(std::string(kHello) + kEnd + "kill -ABRT $$\n");
  EXPECT_EQ(document.outcome, ProbeOutcome::completed);
}

TEST_F(ProbesInChildren, HelperThatIsNoneFailsToStart) {
  EXPECT_EQ(ask("exit 127\n").outcome, ProbeOutcome::failed_to_start);
  setenv("GPUREADY_HELPER", (folder + "/absent").c_str(), 1);
  const auto documents = probe_in_children({{"cuda", {}, {}}});
  ASSERT_EQ(documents.size(), 1u);
  EXPECT_EQ(documents[0].outcome, ProbeOutcome::failed_to_start);
  EXPECT_EQ(documents[0].probe, "cuda");
  EXPECT_TRUE(contains(documents[0].library_error, "absent"));
}

TEST_F(ProbesInChildren, AllRunAtTheSameTimeInOrder) {
  // Each answers when it has seen the three others.
  const auto helper = write("helper",
                            "#!/bin/sh\n: >$0.$$\nuntil [ $(ls $0.* | wc -l) = 4 ]; do sleep 0.01; "
                            "done\n" +
                                std::string(kHello) + kEnd,
                            0755);
  std::vector<ProbeRequest> requests{{"a", {}}, {"b", {}}, {"c", {}}, {"d", {}}};
  setenv("GPUREADY_HELPER", helper.c_str(), 1);
  const auto documents = probe_in_children(requests);
  ASSERT_EQ(documents.size(), 4u);
  EXPECT_EQ(documents[2].probe, "c");
  EXPECT_EQ(documents[3].outcome, ProbeOutcome::completed);
}

// Answers each line with its process id and how many lines there were; it ends after the third.
class ProbesAskedAgain : public ProbesInChildren {
 protected:
  void SetUp() override {
    ProbesInChildren::SetUp();
    const auto helper = write(
        "helper",
        "#!/bin/sh\necho $* >>" + starts() + "\nfor n in 1 2 3; do read line <&3 || exit 1\n" +
            kHello + "echo \"{\\\"call\\\":\\\"$$ $n\\\",\\\"code\\\":0}\" >&3\n" + kEnd + "done\n",
        0755);
    setenv("GPUREADY_HELPER", helper.c_str(), 1);
  }
  std::pair<std::string, std::string> ask_again() {
    const auto document = host->probe({request})[0];
    EXPECT_EQ(document.outcome, ProbeOutcome::completed);
    EXPECT_EQ(document.calls.size(), 1u);
    if (document.calls.empty()) return {};
    const auto words = split(document.calls.begin()->first, " ");
    return {std::string(words[0]), std::string(words[1])};
  }
  std::string starts() const { return folder + "/starts"; }
  const ProbeRequest request{"open-files", {}, std::chrono::seconds(5), true};
};

TEST_F(ProbesAskedAgain, OneChildAnswersEachTime) {
  host->expect_probe(request);
  host->expect_probe(request);
  const auto [first, once] = ask_again();
  host->expect_probe(request);
  const auto [second, twice] = ask_again();
  EXPECT_EQ(first, second);
  EXPECT_EQ(once, "1");
  EXPECT_EQ(twice, "2");
  EXPECT_EQ(host->read_file(starts()).value_or(""), "__probe open-files --again\n");
}

TEST_F(ProbesAskedAgain, AnotherChildAnswersForOneThatDied) {
  const auto first = ask_again().first;
  ASSERT_EQ(::kill(static_cast<pid_t>(parse_uint(first).value_or(0)), SIGKILL), 0);
  while (::kill(static_cast<pid_t>(parse_uint(first).value_or(0)), 0) == 0 &&
         !contains(host->read_file("/proc/" + first + "/stat").value_or(""), ") Z "))
    std::this_thread::yield();
  const auto [second, once] = ask_again();
  EXPECT_NE(first, second);
  EXPECT_EQ(once, "1");
}

TEST_F(ProbesInChildren, OneThatIsExpectedRunsMeanwhileAndOnce) {
  const std::string log = folder + "/starts";
  const auto helper =
      write("helper", "#!/bin/sh\necho $2 $3 >>" + log + "\nsleep 0.2\n" + kHello + kEnd, 0755);
  setenv("GPUREADY_HELPER", helper.c_str(), 1);
  const ProbeRequest request{"nvml", {"--full"}};
  host->expect_probe(request);
  for (int i = 0; i < 500 && !host->read_file(log).has_value(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(host->read_file(log).value_or(""), "nvml --full\n");  // before anybody waits for it
  const auto documents = host->probe({request, {"nvml", {}}});
  EXPECT_EQ(documents[0].outcome, ProbeOutcome::completed);
  EXPECT_EQ(documents[1].outcome, ProbeOutcome::completed);
  EXPECT_EQ(host->read_file(log).value_or(""),
            "nvml --full\nnvml\n");  // another question is another child
}

}  // namespace
}  // namespace gpuready
