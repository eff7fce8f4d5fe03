// What else uses the machine, and turns of runs.
#include "bench/run/load.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "base/cpu/cpus.h"
#include "bench/run/turn.h"
#include "host/recording/recording.h"

namespace gpuready::bench {
namespace {

// user nice system idle iowait irq softirq steal guest guest_nice, in hundredths of a second
constexpr std::string_view kBefore =
    "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 100 0 0 1000 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\nintr 5\n";
constexpr std::string_view kAfter =
    "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 150 10 20 1100 5 2 4 9 50 0\ncpu1 200 0 0 0 0 0 0 0 0 0\n";

TEST(BenchLoad, IsTheTimeOfOurCpusThatOthersTook) {
  constexpr std::array<unsigned, 1> kFirst = {0};
  // Of 200 ticks, 105 are idle and 95 are not, and 45 of those are our own.
  EXPECT_DOUBLE_EQ(*others_cpu_percent(kBefore, kAfter, kFirst, 0.45, 100), 25);
  constexpr std::array<unsigned, 2> kBoth = {0, 1};
  EXPECT_DOUBLE_EQ(*others_cpu_percent(kBefore, kAfter, kBoth, 0.95, 100), 50);
  EXPECT_DOUBLE_EQ(*others_cpu_percent(kBefore, kAfter, kBoth, 9, 100), 0);
  constexpr std::array<unsigned, 2> kMissing = {0, 7};
  EXPECT_FALSE(others_cpu_percent(kBefore, kAfter, kMissing, 0, 100));
  EXPECT_FALSE(others_cpu_percent(kBefore, kBefore, kBoth, 0, 100));
  EXPECT_FALSE(others_cpu_percent("", "", kBoth, 0, 100));
  EXPECT_FALSE(others_cpu_percent("", kAfter, kBoth, 0, 100));
  EXPECT_FALSE(others_cpu_percent(kBefore, "", kBoth, 0, 100));
}

TEST(BenchLoad, CountsTheGpusUsers) {
  const auto host = make_recorded_host(Recording());
  Gpu gpu;
  gpu.processes.resize(2);
  gpu.utilization_percent = 97;
  const Load load = LoadWatch(*host, &gpu).until_now();
  EXPECT_EQ(load.gpu_processes, 2u);
  EXPECT_EQ(load.gpu_percent, 97);
  EXPECT_FALSE(load.others_cpu_percent);
  EXPECT_FALSE(LoadWatch(*host, nullptr).until_now().gpu_processes);
}

TEST(Cpus, AreListedAsTheKernelDoes) {
  using Cpus = std::vector<unsigned>;
  EXPECT_EQ(cpu_list(Cpus{0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(cpu_list(Cpus{5}), "5");
  EXPECT_EQ(cpu_list(Cpus{1, 3, 4}), "1,3-4");
  EXPECT_EQ(cpu_list(Cpus{}), "");
  EXPECT_FALSE(cpus_of_affinity().empty());
}

TEST(BenchTurn, IsOfOneRunAndSaysWhoHasIt) {
  const std::string path = testing::TempDir() + "turn.lock";
  std::filesystem::remove(path);
  const auto host = make_live_host();
  std::vector<std::string> told;
  const auto take = [&](int tries) {
    return wait_for_turn(
        *host, path, [&](std::string_view holder) { told.emplace_back(holder); },
        [&] { return --tries > 0; });
  };
  {
    const Turn first = take(1);
    ASSERT_TRUE(first.lock) << first.lock.error().message;
    EXPECT_FALSE(first.waited);
    const Turn second = take(3);
    EXPECT_FALSE(second.lock);
    EXPECT_TRUE(second.waited);
    EXPECT_EQ(told.size(), 1u);
  }
  EXPECT_TRUE(take(1).lock);
  // Whoever made it: everyone may read it.
  const auto mode = std::filesystem::status(path).permissions();
  using enum std::filesystem::perms;
  EXPECT_EQ(mode, owner_read | group_read | others_read);
}

TEST(BenchTurn, HolderIsReadFromTheKernelsTable) {
  constexpr std::string_view kLocks =
      "1: POSIX  ADVISORY  WRITE 11 08:02:77 0 EOF\n"
      "2: FLOCK  ADVISORY  WRITE 4711 08:02:77 0 EOF\n"
      "2: -> FLOCK  ADVISORY  WRITE 4712 08:02:77 0 EOF\n"
      "3: FLOCK  ADVISORY  WRITE 12 08:02:177 0 EOF\n";
  EXPECT_EQ(lock_holder(kLocks, 77), 4711u);
  EXPECT_EQ(lock_holder(kLocks, 177), 12u);
  EXPECT_EQ(lock_holder(kLocks, 7), 0u);
}

}  // namespace
}  // namespace gpuready::bench
