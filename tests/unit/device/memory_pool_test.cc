#include "device/memory_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "unit/health/forwarding_device.h"

namespace gpuready {
namespace {

constexpr std::uint64_t kMemory = std::uint64_t{256} << 20;

// Counts what the pool asks of a device, and refuses when it is told to.
class WatchedDevice final : public ForwardingDevice {
 public:
  WatchedDevice() : ForwardingDevice(1, kMemory) {}
  Result<DeviceAddress> allocate(std::uint64_t bytes) override {
    if (lost_) return std::unexpected(*lost_);
    if (held + bytes > room)
      return fail(ErrorKind::too_large, "no room");  // the CPU's out_of_memory
    auto address = ForwardingDevice::allocate(bytes);
    if (address) sizes_[*address] = bytes, held += bytes, ++allocations;
    return address;
  }
  Result<void> release(DeviceAddress address) override {
    held -= sizes_.at(address);
    sizes_.erase(address);
    ++releases;
    return ForwardingDevice::release(address);
  }
  Result<void> synchronize(StreamId stream) override {
    synchronized.push_back(stream.value);
    if (fail_synchronize) return fail(ErrorKind::device, "told to fail");
    return {};
  }
  const std::optional<Error>& lost() const override { return lost_; }
  void lose() { lost_ = Error{ErrorKind::device, "lost"}; }

  std::uint64_t held = 0, room = kMemory;
  int allocations = 0, releases = 0;
  bool fail_synchronize = false;
  std::vector<std::uint64_t> synchronized;

 private:
  std::map<DeviceAddress, std::uint64_t> sizes_;
  std::optional<Error> lost_;
};

TEST(DevicePool, reuses_memory_on_the_same_stream_without_waiting) {
  WatchedDevice device;
  DevicePool pool(device);
  DeviceAddress first = 0;
  {
    auto block = pool.allocate(5000, StreamId{1});
    ASSERT_TRUE(block);
    first = block->address();
    std::memset(reinterpret_cast<void*>(first), 0xAB, 5000);  // it is memory
  }
  const auto again = pool.allocate(4900, StreamId{1});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->address(), first);
  EXPECT_EQ(device.allocations, 1);
  EXPECT_TRUE(device.synchronized.empty());
  const PoolStats stats = pool.stats();
  EXPECT_EQ(stats.hits, 1u);
  EXPECT_EQ(stats.misses, 1u);
  EXPECT_EQ(stats.requested_bytes, 4900u);
  EXPECT_EQ(stats.in_use_bytes, pool_block_bytes(5000));
  EXPECT_EQ(stats.cached_bytes, 0u);
}

TEST(DevicePool, another_stream_gets_the_memory_only_after_a_synchronization) {
  WatchedDevice device;
  DevicePool pool(device);
  DeviceAddress first = pool.allocate(5000, StreamId{1})->address();
  const auto other = pool.allocate(5000, StreamId{2});
  EXPECT_NE(other->address(), first);
  ASSERT_TRUE(pool.synchronize(StreamId{1}));
  const auto third = pool.allocate(5000, StreamId{2});
  EXPECT_EQ(third->address(), first);
}

TEST(DevicePool, memory_that_two_streams_used_waits_for_both) {
  WatchedDevice device;
  DevicePool pool(device);
  DeviceAddress first = 0;
  {
    auto block = pool.allocate(5000, StreamId{1});
    first = block->address();
    block->used_on(StreamId{2});
  }
  EXPECT_NE(pool.allocate(5000, StreamId{1})->address(), first);
  ASSERT_TRUE(pool.trim(0));
  EXPECT_EQ(std::set(device.synchronized.begin(), device.synchronized.end()),
            (std::set<std::uint64_t>{1, 2}));
}

TEST(DevicePool, a_synchronization_before_the_block_came_back_does_not_free_it) {
  WatchedDevice device;
  DevicePool pool(device);
  DeviceAddress first = 0;
  {
    auto block = pool.allocate(5000, StreamId{1});
    first = block->address();
    block->used_on(StreamId{2});
    ASSERT_TRUE(pool.synchronize(StreamId{1}));
    ASSERT_TRUE(pool.synchronize(StreamId{2}));
  }
  EXPECT_NE(pool.allocate(5000, StreamId{3})->address(), first);
}

TEST(DevicePool, the_limit_holds_and_cached_memory_makes_way) {
  WatchedDevice device;
  DevicePool pool(device, {.limit_bytes = 8 << 20});
  auto a = pool.allocate(4 << 20);
  auto b = pool.allocate(4 << 20);
  ASSERT_TRUE(a && b);
  const auto refused = pool.allocate(1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::too_large);
  EXPECT_EQ(pool.stats().refused, 1u);
  a->reset();
  EXPECT_TRUE(pool.allocate(1 << 20));  // the cached 4 MiB are released for it
  EXPECT_LE(device.held, 8u << 20);
  EXPECT_FALSE(pool.allocate(9 << 20));
  EXPECT_FALSE(pool.allocate(UINT64_MAX));
  EXPECT_LE(pool.stats().peak_held_bytes, 8u << 20);
}

TEST(DevicePool, at_its_limit_it_waits_for_another_streams_block) {
  WatchedDevice device;
  DevicePool pool(device, {.limit_bytes = 8 << 20});
  const auto first = pool.allocate(6 << 20, StreamId{1})->address();
  const auto second = pool.allocate(6 << 20, StreamId{2});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->address(), first);
  EXPECT_EQ(device.synchronized, std::vector<std::uint64_t>{1});
  EXPECT_EQ(pool.stats().waits, 1u);
}

TEST(DevicePool, a_full_device_gets_its_cached_memory_back_before_giving_up) {
  WatchedDevice device;
  device.room = 10 << 20;
  DevicePool pool(device);
  (void)pool.allocate(6 << 20);
  const auto larger = pool.allocate(9 << 20);
  ASSERT_TRUE(larger);
  EXPECT_EQ(device.releases, 1);
  const auto more = pool.allocate(9 << 20);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().message, "no room");
}

TEST(DevicePool, large_requests_do_not_take_much_larger_blocks) {
  WatchedDevice device;
  DevicePool pool(device);
  (void)pool.allocate(64 << 20);
  (void)pool.allocate(1 << 20);
  EXPECT_EQ(pool.stats().misses, 2u);
  EXPECT_EQ(pool.stats().hits, 0u);
}

TEST(DevicePool, keeps_no_more_than_asked) {
  WatchedDevice device;
  DevicePool pool(device, {.most_cached_bytes = 4 << 20});
  {
    const auto a = pool.allocate(4 << 20), b = pool.allocate(2 << 20);
  }
  EXPECT_LE(pool.stats().cached_bytes, 4u << 20);
  EXPECT_EQ(device.releases, 1);
}

TEST(DevicePool, trim_releases_the_largest_first) {
  WatchedDevice device;
  DevicePool pool(device);
  {
    const auto a = pool.allocate(4 << 20), b = pool.allocate(2 << 20), c = pool.allocate(300);
  }
  const auto released = pool.trim(3 << 20);
  ASSERT_TRUE(released);
  EXPECT_EQ(*released, 4u << 20);
  EXPECT_EQ(pool.stats().cached_blocks, 2u);
  device.fail_synchronize = true;
  (void)pool.allocate(5 << 20);
  EXPECT_FALSE(pool.trim(0));
  device.fail_synchronize = false;
  EXPECT_TRUE(pool.trim(0));
  EXPECT_EQ(device.held, 0u);
}

TEST(DevicePool, a_leak_names_the_place_that_allocated) {
  WatchedDevice device;
  DevicePool pool(device);
  auto a = pool.allocate(300);
  const unsigned line = __LINE__ + 1;
  auto b = pool.allocate(4000);
  const auto leaks = pool.leaks();
  ASSERT_EQ(leaks.size(), 2u);
  EXPECT_EQ(leaks[1].line, line);
  EXPECT_EQ(leaks[1].bytes, 4000u);
  EXPECT_NE(leaks[1].file.find("pool_test.cc"), std::string::npos);
  EXPECT_NE(to_string(leaks[1]).find("pool_test.cc:" + std::to_string(line)), std::string::npos);
  a->reset();
  b->reset();
  EXPECT_TRUE(pool.leaks().empty());
}

TEST(DevicePool, all_memory_goes_back_also_when_a_block_outlives_the_pool) {
  WatchedDevice device;
  PoolBlock late;
  {
    DevicePool pool(device);
    late = std::move(*pool.allocate(1000));
    (void)pool.allocate(50'000);
  }
  EXPECT_EQ(device.releases, 1);
  late.reset();
  EXPECT_EQ(device.held, 0u);
  EXPECT_EQ(device.releases, 2);
}

TEST(DevicePool, a_lost_device_gives_nothing_and_takes_back_without_waiting) {
  WatchedDevice device;
  DevicePool pool(device);
  auto block = pool.allocate(1000);
  device.lose();
  EXPECT_EQ(pool.allocate(1000).error().message, "lost");
  block->reset();
  EXPECT_TRUE(device.synchronized.empty());
  EXPECT_EQ(pool.stats().cached_blocks, 0u);
}

TEST(DevicePool, refuses_nothing_at_all) {
  WatchedDevice device;
  DevicePool pool(device);
  EXPECT_FALSE(pool.allocate(0));
}

TEST(PoolBlockBytes, waste_little) {
  EXPECT_EQ(pool_block_bytes(1), 256u);
  EXPECT_EQ(pool_block_bytes(256), 256u);
  EXPECT_EQ(pool_block_bytes(257), 320u);
  EXPECT_EQ(pool_block_bytes(1024), 1024u);
  EXPECT_EQ(pool_block_bytes((2 << 20) + 1), 4u << 20);
  for (std::uint64_t bytes = 256; bytes < (std::uint64_t{1} << 36); bytes = bytes * 9 / 8 + 1) {
    const auto block = pool_block_bytes(bytes);
    EXPECT_GE(block, bytes);
    EXPECT_LE(block - bytes, std::max<std::uint64_t>(bytes / 4, 2 << 20)) << bytes;
    EXPECT_EQ(pool_block_bytes(block), block);
  }
}

}  // namespace
}  // namespace gpuready
