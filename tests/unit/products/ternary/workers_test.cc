// The threads that stay: each part is done once, no call waits for a thread that is late, and how
// many threads work is worth.
#include "ternary/workers.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>

#include "ternary/cpu_quota.h"

namespace gpuready::ternary {
namespace {

using namespace std::chrono_literals;

// Costs for the length of a test.
struct Costs {
  const ThreadCosts before = thread_costs();
  explicit Costs(const ThreadCosts& costs) { thread_costs() = costs; }
  ~Costs() { thread_costs() = before; }
};
constexpr double kForEver = 1e12;  // ns

bool threads_spin() { return usable_cpus() >= 2 && cpus_of_quota() == ~0u; }

// Every thread but this one waits in the kernel.
bool others_sleep() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream stat(task.path() / "stat");
    const std::string text((std::istreambuf_iterator<char>(stat)), {});
    const auto state = text.find(") ");
    if (task.path().filename() != std::to_string(gettid()) && state != text.npos &&
        text[state + 2] != 'S')
      return false;
  }
  return true;
}

// Until it holds, within 10 s.
bool soon(const std::function<bool()>& holds) {
  for (int i = 0; i < 10000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

TEST(TernaryWorkers, EachPartIsDoneOnce) {
  for (const double spin_ns : {0.0, 50000.0}) {
    const Costs costs({.spin_ns = spin_ns});
    Workers workers(4);
    ASSERT_EQ(workers.count(), 4u);
    for (unsigned round = 0; round < 3000; ++round) {
      const unsigned parts = round % 4 + 1;
      std::atomic<int> done[4] = {};
      std::thread::id first;
      ASSERT_TRUE(workers.run(parts, [&](unsigned part) {
        ++done[part];
        if (part == 0) first = std::this_thread::get_id();
      }));
      EXPECT_EQ(first, std::this_thread::get_id());
      for (unsigned part = 0; part < 4; ++part) ASSERT_EQ(done[part], part < parts ? 1 : 0);
      if (round % 500 == 0) std::this_thread::sleep_for(1ms);  // they fall asleep
    }
  }
}

// A thread that the system does not run: it is in a signal's handler until it is let go.
std::atomic<bool> held{false}, hold{false};
void stay(int) {
  held = true;
  while (hold) {
    const timespec wait{0, 1'000'000};
    nanosleep(&wait, nullptr);
  }
}

TEST(TernaryWorkers, NoCallWaitsForAThreadThatIsLate) {
  struct sigaction action{};
  action.sa_handler = stay;
  action.sa_flags = SA_RESTART;
  struct sigaction before;
  ASSERT_EQ(sigaction(SIGUSR2, &action, &before), 0);
  for (const double spin_ns : {0.0, kForEver}) {  // one that sleeps, and one that spins
    const Costs costs({.spin_ns = spin_ns});
    Workers workers(2);
    const pthread_t caller = pthread_self();
    std::atomic<pthread_t> other{};
    ASSERT_TRUE(soon([&] {
      workers.run(2, [&](unsigned part) {
        if (part == 0) std::this_thread::sleep_for(2ms);
        if (part == 1 && !pthread_equal(pthread_self(), caller)) other = pthread_self();
      });
      return other.load() != pthread_t{};
    }));
    hold = true;
    held = false;
    ASSERT_EQ(pthread_kill(other, SIGUSR2), 0);
    ASSERT_TRUE(soon([] { return held.load(); }));
    for (int call = 0; call < 3; ++call) {
      bool by_caller = false;
      workers.run(2, [&](unsigned part) {
        if (part == 1) by_caller = pthread_equal(pthread_self(), caller) != 0;
      });
      EXPECT_TRUE(by_caller);
    }
    hold = false;
    std::atomic<bool> back{false};  // and it works again
    EXPECT_TRUE(soon([&] {
      workers.run(2, [&](unsigned part) {
        if (part == 0) std::this_thread::sleep_for(2ms);
        if (part == 1 && !pthread_equal(pthread_self(), caller)) back = true;
      });
      return back.load();
    }));
  }
  sigaction(SIGUSR2, &before, nullptr);
}

TEST(TernaryWorkers, AreWorthWhatTheyCost) {
  const Costs costs({.share_ns = 1000, .wake_ns = 1e9, .wake_share = 0.05, .spin_ns = kForEver});
  if (!threads_spin()) GTEST_SKIP() << "one CPU, or a quota: no thread spins";
  Workers workers(2);
  EXPECT_EQ(workers.worth(0), 1u);
  EXPECT_EQ(workers.worth(1999), 1u);  // half of it is too little for a thread
  EXPECT_EQ(workers.worth(2000), 2u);  // awake
  EXPECT_EQ(workers.worth(1e30), 2u);
}

TEST(TernaryWorkers, ThatSleepAreWokenForWorkThatIsLongOrComesAgainSoon) {
  const Costs costs({.share_ns = 1000, .wake_ns = 10000, .wake_share = 0.05, .spin_ns = 20e6});
  if (!threads_spin()) GTEST_SKIP() << "one CPU, or a quota: no thread spins";
  Workers workers(2);
  const auto nothing = [](unsigned) {};
  EXPECT_TRUE(soon([&] { return workers.worth(100e3) == 1; }));  // it has fallen asleep
  EXPECT_EQ(workers.worth(300e3), 2u);                           // 5% of it pay for waking one
  workers.run(1, nothing);
  EXPECT_EQ(workers.worth(100e3), 2u);  // calls follow each other
  workers.run(2, nothing);
}

TEST(TernaryWorkers, DoNotSpinLongNorWhereTheyHaveNoCoreEach) {
  if (!threads_spin()) GTEST_SKIP() << "one CPU, or a quota: no thread spins";
  const auto fall_asleep = [](unsigned threads) {
    Workers workers(threads);
    workers.run(threads, [](unsigned) {});
    return soon(others_sleep);
  };
  EXPECT_TRUE(fall_asleep(2));
  const Costs costs({.spin_ns = kForEver});
  EXPECT_TRUE(fall_asleep(std::thread::hardware_concurrency() + 1));
}

}  // namespace
}  // namespace gpuready::ternary
