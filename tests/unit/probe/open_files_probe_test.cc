// Real looks at this machine's processes while some hold a node without a driver, which O_PATH
// opens all the same.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "../../fake_drivers/ask_fake.h"
#include "base/descriptor.h"

namespace gpuready {
namespace {

constexpr unsigned kNoDriver = 4000;  // no driver has this major number

class OpenFilesProbe : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/gpuready-nodes-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    if (!can_make_node()) GTEST_SKIP() << "only root may make device nodes";
  }
  void TearDown() override {
    for (const auto process : processes_) {
      kill(process, SIGKILL);
      waitpid(process, nullptr, __WALL);
    }
    std::filesystem::remove_all(folder_);
  }

  std::string path_of(unsigned minor) const { return folder_ + "/" + std::to_string(minor); }
  static std::string name_of(unsigned minor) {
    return "/dev/char/" + std::to_string(kNoDriver) + ":" + std::to_string(minor);
  }

  // In a child: returns when `hold` says that it holds the node. The node itself is removed.
  template <class Hold>
  pid_t start(unsigned minor, Hold hold, unsigned major = kNoDriver) {
    EXPECT_EQ(mknod(path_of(minor).c_str(), S_IFCHR | 0600, makedev(major, minor)), 0);
    std::array<int, 2> pipe_ends{};
    EXPECT_EQ(pipe2(pipe_ends.data(), O_CLOEXEC), 0);
    const pid_t process = fork();
    if (process == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      hold(path_of(minor), [&] { static_cast<void>(write(pipe_ends[1], "h", 1)); });
      for (;;) pause();
    }
    close(pipe_ends[1]);
    char held = 0;
    EXPECT_EQ(read(pipe_ends[0], &held, 1), 1);
    close(pipe_ends[0]);
    unlink(path_of(minor).c_str());
    processes_.push_back(process);
    return process;
  }

  static void open_node(const std::string& path) {
    if (open(path.c_str(), O_PATH | O_CLOEXEC) < 0) _exit(1);
  }

  static ProbeDocument look() { return testing::ask_fake("open-files", {}); }
  static Json held_by(const ProbeDocument& document, pid_t process) {
    return document.value("open(" + std::to_string(process) + ")");
  }

  std::vector<pid_t> processes_;

 private:
  bool can_make_node() const {
    const bool made = mknod(path_of(0).c_str(), S_IFCHR | 0600, makedev(kNoDriver, 0)) == 0;
    return made && Descriptor(open(path_of(0).c_str(), O_PATH | O_CLOEXEC));
  }
  std::string folder_;
};

TEST_F(OpenFilesProbe, EachOfManyProcessesIsFoundWithItsOwnDevice) {
  constexpr unsigned kMany = 70;  // enough for all threads of a look
  for (unsigned minor = 1; minor <= kMany; ++minor)
    start(minor, [](const std::string& path, auto held) {
      open_node(path);
      held();
    });
  const auto document = look();
  for (unsigned minor = 1; minor <= kMany; ++minor)
    EXPECT_EQ(held_by(document, processes_[minor - 1]), Json{name_of(minor)});
}

TEST_F(OpenFilesProbe, AThreadWithDescriptorsOfItsOwn) {
  const auto process = start(1, [](const std::string& path, auto held) {
    std::thread([&] {
      if (unshare(CLONE_FILES) != 0) _exit(1);
      open_node(path);
      held();
      for (;;) pause();
    }).join();
  });
  EXPECT_EQ(held_by(look(), process), Json{name_of(1)});
}

TEST_F(OpenFilesProbe, AProcessWhoseFirstThreadHasEnded) {
  const auto process = start(1, [](const std::string& path, auto held) {
    std::thread([path, held] {
      open_node(path);
      usleep(200'000);  // the first thread ends meanwhile
      held();
      for (;;) pause();
    }).detach();
    syscall(SYS_exit, 0);
  });
  EXPECT_EQ(held_by(look(), process), Json{name_of(1)});
}

TEST_F(OpenFilesProbe, OneChildThatIsAskedAgainLooksAnew) {
  setenv("GPUREADY_HELPER", testing::fake_driver_path("probe_helper").c_str(), 1);
  ProbeChildren children;
  const auto look_again = [&] {
    return children.ask({{"open-files", {}, std::chrono::seconds(20), true}}).front();
  };
  EXPECT_EQ(look_again().outcome, ProbeOutcome::completed);
  const auto process = start(1, [](const std::string& path, auto held) {
    open_node(path);
    held();
  });
  EXPECT_EQ(held_by(look_again(), process), Json{name_of(1)});
  kill(process, SIGKILL);
  waitpid(process, nullptr, __WALL);
  EXPECT_EQ(held_by(look_again(), process), Json());
}

// Linux, Documentation/admin-guide/devices.txt: 136 to 143 are pseudo terminals.
TEST_F(OpenFilesProbe, ATerminalIsNoDeviceThatIsHeld) {
  constexpr unsigned kUnused = 0xf0000;
  for (const auto& [major, told] :
       {std::pair(135u, true), {136u, false}, {143u, false}, {144u, true}}) {
    const auto process = start(
        kUnused,
        [](const std::string& path, auto held) {
          open_node(path);
          held();
        },
        major);
    const auto name = "/dev/char/" + std::to_string(major) + ":" + std::to_string(kUnused);
    EXPECT_EQ(held_by(look(), process), told ? Json{name} : Json()) << major;
  }
}

// A ring holds files that no table of descriptors shows.
TEST_F(OpenFilesProbe, AMappedRingWithoutADescriptorIsTold) {
  const auto ring = [] {
    std::array<std::uint64_t, 15> parameters{};  // struct io_uring_params
    return static_cast<int>(syscall(SYS_io_uring_setup, 1, parameters.data()));
  };
  if (!Descriptor(ring())) GTEST_SKIP() << "the kernel gives no io_uring";
  const auto refused = [] { return get_int(look().value("processes()"), "refused").value(); };
  const auto before = refused();
  start(1, [&](const std::string&, auto held) {
    const Descriptor file(ring());
    if (mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file.get(), 0) == MAP_FAILED) _exit(1);
    close(file.get());
    held();
    for (;;) pause();
  });
  EXPECT_GT(refused(), before);
}

// The later of them opened it, and the earlier holds it, too.
TEST_F(OpenFilesProbe, TwoProcessesThatShareTheirDescriptors) {
  std::array<int, 2> told{};
  ASSERT_EQ(pipe(told.data()), 0);
  const auto process = start(1, [&](const std::string& path, auto held) {
    const auto other = static_cast<pid_t>(
        syscall(SYS_clone, CLONE_FILES | CLONE_UNTRACED | SIGCHLD, nullptr, nullptr, nullptr, 0));
    if (other == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      open_node(path);
      const auto self = getpid();
      static_cast<void>(write(told[1], &self, sizeof self));
      held();
      for (;;) pause();
    }
  });
  pid_t other = 0;
  ASSERT_EQ(read(told[0], &other, sizeof other), static_cast<ssize_t>(sizeof other));
  close(told[0]);
  close(told[1]);
  const auto document = look();
  EXPECT_EQ(held_by(document, process), Json{name_of(1)});
  EXPECT_EQ(held_by(document, other), Json{name_of(1)});
}

}  // namespace
}  // namespace gpuready
