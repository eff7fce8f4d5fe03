// CudaPool on a caller's context and streams, and its C interface.
#include "gpuready/cuda_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "../unit/device/in_child.h"
#include "caller.h"
#include "gpuready/cuda_pool_c.h"

namespace gpuready {
namespace {

std::string as_caller(const std::string& fake, const std::function<std::string()>& work) {
  return in_child("cc=9.0," + fake, work, "fake_cuda_ptx");
}
template <class R>
std::string kind_of(const R& result) {
  return result ? "ok" : std::string(to_string(result.error().kind));
}

TEST(CudaPool, GivesABlockAgainToItsOwnStreamAtOnceAndToAnotherAfterSynchronizing) {
  const auto outcome = as_caller("memory=256MiB", [] {
    const Caller caller;
    CudaHandle other = nullptr;
    must(caller.driver.stream_create(&other, 1u));
    const CudaPool pool = must(CudaPool::create());
    void* first = nullptr;
    {
      const CudaBlock block = must(pool.allocate(5000, caller.stream));
      first = block.address();
      const std::vector<int> values(1250, 7);
      caller.write(first, values.data(), 5000);
      if (caller.read<int>(first, 1250) != values) return std::string("it is no memory");
      if (block.bytes() != 5000) return std::string("it has another size");
    }
    const bool own = must(pool.allocate(4900, caller.stream)).address() == first;
    const bool early = must(pool.allocate(5000, other)).address() == first;
    must(pool.synchronize(caller.stream));
    CudaBlock moved;
    moved = must(pool.allocate(5000, other));
    const PoolStats stats = pool.stats();
    return fmt::format("own {}, early {}, hits {}, misses {}, in use {}", own, early, stats.hits,
                       stats.misses, stats.in_use_blocks);
  });
  EXPECT_EQ(outcome, "own true, early false, hits 2, misses 2, in use 1");
}

TEST(CudaPool, HoldsToItsLimitAndGivesTheDriverAllBack) {
  const auto outcome = as_caller("memory=256MiB", [] {
    const Caller caller;
    const auto free_bytes = [&] {
      std::size_t free = 0, total = 0;
      must(caller.driver.memory_info(&free, &total));
      return free;
    };
    const auto before = free_bytes();
    std::string told;
    {
      const CudaPool pool = must(CudaPool::create(caller.context, {std::uint64_t{8} << 20, 0}));
      CudaBlock survivor = must(pool.allocate(std::size_t{4} << 20, caller.stream));
      told = kind_of(pool.allocate(std::size_t{6} << 20, caller.stream)) + ", " +
             kind_of(pool.allocate(0, caller.stream));
      const auto leaks = pool.leaks();
      told += fmt::format(", {} in use from {}", leaks.size(),
                          leaks.at(0).file.substr(leaks.at(0).file.rfind('/') + 1));
      survivor.reset();
      told += fmt::format(", trimmed {} MiB", must(pool.trim()) >> 20);
      survivor = must(pool.allocate(1000, caller.stream));
    }
    return told + fmt::format(", {} bytes lost", before - free_bytes());
  });
  EXPECT_EQ(outcome,
            "too_large, bad_input, 1 in use from cuda_pool_test.cc, trimmed 4 MiB, 0 bytes lost");
}

TEST(CudaPool, NeedsAContextAndKeepsTheThreadsOwn) {
  const auto outcome = as_caller("memory=256MiB,devices=2", [] {
    const Caller other(1), caller(0);
    std::string told;
    std::thread([&] {
      told = kind_of(CudaPool::create());
      const CudaPool pool = must(CudaPool::create(caller.context));
      caller.make_current(other.context);
      must(pool.allocate(100, caller.stream)).reset();
      must(pool.trim());
      told += caller.current() == other.context ? ", kept" : ", changed";
    }).join();
    return told;
  });
  EXPECT_EQ(outcome, "bad_input, kept");
}

TEST(CudaPool, IsOfNoUseInAForkedProcessAndEndsThere) {
  const auto outcome = as_caller("memory=256MiB", [] {
    const Caller caller;
    auto pool = std::make_unique<CudaPool>(must(CudaPool::create()));
    auto block = std::make_unique<CudaBlock>(must(pool->allocate(100, caller.stream)));
    const pid_t child = fork();
    if (child == 0) {
      const bool refused = kind_of(pool->allocate(100, caller.stream)) == "unsupported" &&
                           kind_of(pool->trim()) == "unsupported" && pool->leaks().empty();
      pool.reset();
      block.reset();
      _exit(refused ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return fmt::format("child {}, parent {}", status, kind_of(pool->allocate(100, caller.stream)));
  });
  EXPECT_EQ(outcome, "child 0, parent ok");
}

TEST(CudaPool, IsNoDeviceWhereThereIsNoDriver) {
  const auto outcome = in_child_with({{"GPUREADY_LIBCUDA", "/nowhere/libcuda.so.1"}}, [] {
    gpuready_cuda_pool* pool = nullptr;
    return fmt::format("{} {}", kind_of(CudaPool::create()),
                       static_cast<int>(gpuready_cuda_pool_create(nullptr, 0, 0, &pool)));
  });
  EXPECT_EQ(outcome, "no_device 1");
}

TEST(CudaPoolC, FreesWhatItGaveAndNothingElse) {
  const auto outcome = as_caller("memory=256MiB", [] {
    const Caller caller;
    gpuready_cuda_pool* pool = nullptr;
    std::string told = std::to_string(gpuready_cuda_pool_create(nullptr, 0, 0, &pool));
    void *first = nullptr, *second = nullptr;
    const auto add = [&](gpuready_status status) { told += ' ' + std::to_string(status); };
    add(gpuready_cuda_pool_allocate(pool, 1000, caller.stream, &first));
    add(gpuready_cuda_pool_used_on(pool, first, nullptr));
    add(gpuready_cuda_pool_free(pool, first));
    add(gpuready_cuda_pool_free(pool, first));
    add(gpuready_cuda_pool_free(pool, nullptr));
    add(gpuready_cuda_pool_used_on(pool, first, nullptr));
    add(gpuready_cuda_pool_allocate(pool, 1000, caller.stream, nullptr));
    add(gpuready_cuda_pool_synchronize(pool, caller.stream));
    add(gpuready_cuda_pool_synchronize(pool, nullptr));
    add(gpuready_cuda_pool_allocate(pool, 1000, caller.stream, &second));
    gpuready_cuda_pool_stats stats{};
    add(gpuready_cuda_pool_get_stats(pool, &stats));
    stats.size = sizeof stats;
    add(gpuready_cuda_pool_get_stats(pool, &stats));
    uint64_t released = 7;
    add(gpuready_cuda_pool_trim(pool, 0, &released));
    told += fmt::format("; same {}, hits {}, in use {}, released {}", first == second, stats.hits,
                        stats.in_use_blocks, released);
    gpuready_cuda_pool_destroy(pool);
    gpuready_cuda_pool_destroy(nullptr);
    return told;
  });
  EXPECT_EQ(outcome, "0 0 0 0 2 0 2 2 0 0 0 2 0 0; same true, hits 1, in use 1, released 0");
}

}  // namespace
}  // namespace gpuready
