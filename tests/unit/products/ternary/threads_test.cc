// A caller's threads, and how many this process may use.
#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <map>
#include <thread>

#include "reference.h"
#include "ternary/cpu_quota.h"

namespace gpuready::ternary {
namespace {

// Runs tasks backwards and one after the other, or each on a thread of its own.
struct Pool {
  bool threads = false;
  std::atomic<unsigned> calls = 0, tasks = 0;
  static void run(void* context, unsigned count, void (*task)(void*, unsigned), void* argument) {
    auto& self = *static_cast<Pool*>(context);
    ++self.calls;
    self.tasks += count;
    std::vector<std::thread> running;
    for (unsigned i = count; i-- > 0;) {
      if (!self.threads)
        task(argument, i);
      else
        running.emplace_back([=] {
          std::fesetround(FE_UPWARD);
          task(argument, i);
        });
    }
    for (auto& thread : running) thread.join();
  }
};

TEST(CallersThreads, MakeTheSameBits) {
  for (const bool threads : {false, true})
    for (const std::int64_t m : {1, 40}) {
      Pool pool{threads};
      EngineOptions options;
      options.pool = ThreadPool{Pool::run, &pool, 3};
      const auto engine = *CpuEngine::create(options), alone = *CpuEngine::create({{}, false, 1});
      EXPECT_EQ(engine.threads(), 3u);
      const auto problem = reference::make(m, 700, 1030, reference::Fill::random, 5);
      const auto weights = *PackedWeights::pack(problem.weights);
      const auto y = *Activations::from_int8(problem.y, m, 1030, problem.steps);
      std::vector<float> ours(static_cast<std::size_t>(m * 700)), theirs = ours;
      ASSERT_TRUE(engine.multiply(weights, y, std::span(ours)));
      ASSERT_TRUE(alone.multiply(weights, y, std::span(theirs)));
      EXPECT_EQ(ours, theirs);
      EXPECT_EQ(pool.calls, 1u);
      EXPECT_EQ(pool.tasks, 3u);
    }
}

TEST(CallersThreads, ThatLeaveTasksOutAreAnError) {
  for (const std::int64_t m : {1, 40}) {
    EngineOptions options;
    options.pool = ThreadPool{
        [](void*, unsigned, void (*task)(void*, unsigned), void* argument) { task(argument, 0); },
        nullptr, 3};
    const auto engine = *CpuEngine::create(options);
    const auto problem = reference::make(m, 700, 1030, reference::Fill::random, 5);
    const auto weights = *PackedWeights::pack(problem.weights);
    const auto y = *Activations::from_int8(problem.y, m, 1030, problem.steps);
    std::vector<float> out(static_cast<std::size_t>(m * 700));
    const auto done = engine.multiply(weights, y, std::span(out));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, ErrorKind::bad_input);
  }
}

TEST(CallersThreads, AreCheckedWhenTheEngineIsMade) {
  for (const ThreadPool& pool : {ThreadPool{nullptr, nullptr, 2}, ThreadPool{Pool::run, nullptr, 0},
                                 ThreadPool{Pool::run, nullptr, 1'000'000}}) {
    EngineOptions options;
    options.pool = pool;
    const auto engine = CpuEngine::create(options);
    ASSERT_FALSE(engine);
    EXPECT_EQ(engine.error().kind, ErrorKind::bad_input);
  }
}

std::optional<unsigned> quota_in(const std::map<std::string, std::string>& files) {
  return quota_of([&](const std::string& path) -> std::optional<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return std::nullopt;
    return found->second;
  });
}

TEST(CpuQuota, IsTheTightestFromTheOwnGroupToTheRoot) {
  const std::string own = "/proc/self/cgroup", root = "/sys/fs/cgroup";
  EXPECT_EQ(quota_in({}), std::nullopt);
  EXPECT_EQ(quota_in({{own, "0::/a/b\n"}, {root + "/a/b/cpu.max", "max 100000\n"}}), std::nullopt);
  EXPECT_EQ(quota_in({{own, "0::/a/b\n"}, {root + "/a/b/cpu.max", "150000 100000\n"}}), 2u);
  EXPECT_EQ(quota_in({{own, "0::/a/b\n"},
                      {root + "/a/b/cpu.max", "800000 100000\n"},
                      {root + "/a/cpu.max", "300000 100000\n"},
                      {root + "/cpu.max", "max 100000\n"}}),
            3u);
  // A container that sees its own files at the root, and the host's path.
  EXPECT_EQ(quota_in({{own, "0::/docker/1234"}, {root + "/cpu.max", "50000 100000\n"}}), 1u);
  EXPECT_EQ(quota_in({{own, "0::/\n"}, {root + "/cpu.max", "50000 100000\n"}}), 1u);
  // Version 1: -1 means no quota.
  const std::string one = "7:cpu,cpuacct:/x\n3:cpuset:/y\n";
  EXPECT_EQ(quota_in({{own, one},
                      {root + "/cpu/x/cpu.cfs_quota_us", "250000\n"},
                      {root + "/cpu/x/cpu.cfs_period_us", "100000\n"},
                      {root + "/cpu/cpu.cfs_quota_us", "-1\n"},
                      {root + "/cpu/cpu.cfs_period_us", "100000\n"}}),
            3u);
}

TEST(CpuQuota, FilesThatSayNothingAreNoLimit) {
  const std::string own = "/proc/self/cgroup", root = "/sys/fs/cgroup";
  for (const char* text : {"", "0 100000", "100000", "100000 0", "x y", "99999999999999999999 1"})
    EXPECT_EQ(quota_in({{own, "0::/\n"}, {root + "/cpu.max", text}}), std::nullopt) << text;
  for (const char* text : {"", "::", "0::", "0::a", "0", "\n\n", ":::/"})
    EXPECT_EQ(quota_in({{own, text}, {root + "/a/cpu.max", "1 1"}}), std::nullopt) << text;
  EXPECT_EQ(quota_in({{own, "0::/\n"}, {root + "/cpu.max", "18446744073709551615 1"}}), ~0u);
}

}  // namespace
}  // namespace gpuready::ternary
