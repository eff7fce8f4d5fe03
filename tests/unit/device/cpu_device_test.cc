// The CPU as an executor.
#include "device/cpu_device.h"

#include <gtest/gtest.h>

#include "unit/health/forwarding_device.h"

namespace gpuready {
namespace {

TEST(CpuDevice, AliasedMemoryIsOneMemoryAtTwoAddresses) {
  const auto device = make_cpu_device({.threads = 1});
  for (const std::uint64_t bytes : {1u, 4096u, 4097u}) {
    const auto range = device->allocate_aliased(bytes);
    ASSERT_TRUE(range) << range.error().message;
    ASSERT_EQ(range->bytes % 2, 0u);
    const std::uint64_t half = range->bytes / 2;
    ASSERT_GE(half, bytes);
    auto* const first = reinterpret_cast<unsigned char*>(range->address);
    auto* const second = first + half;
    for (const std::uint64_t at : {std::uint64_t{0}, half - 1}) {
      first[at] = 7;
      EXPECT_EQ(second[at], 7) << bytes << " " << at;
      second[at] = 9;
      EXPECT_EQ(first[at], 9) << bytes << " " << at;
    }
    EXPECT_TRUE(device->release(range->address));
  }
}

// All of them have the host's memory; no other device has it.
TEST(CpuDevice, OnlyAnotherCpuIsAPeer) {
  const auto one = make_cpu_device({.threads = 1}), two = make_cpu_device({.threads = 1});
  ForwardingDevice other(make_cpu_device({.threads = 1}));
  EXPECT_EQ(one->can_access_peer(*two), true);
  EXPECT_TRUE(one->enable_peer_access(*two));
  EXPECT_EQ(one->can_access_peer(other), false);
  const auto refused = one->enable_peer_access(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
}

}  // namespace
}  // namespace gpuready
