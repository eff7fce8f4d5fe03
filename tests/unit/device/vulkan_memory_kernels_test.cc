// The memory kernels in SPIR-V do what the CPU's do.
#include <random>
#include <vector>

#include "base/units.h"
#include "kernels/memory_kernels.h"
#include "kernels/memory_mix.h"
#include "vulkan_fixture.h"

namespace gpuready {
namespace {

using u64 = unsigned long long;

// Memory on the device that is written, changed and verified as a test does it.
class VulkanMemoryKernelsTest : public VulkanTest {
 protected:
  void make(std::uint64_t words) {
    memory_.reset();
    results_memory_.reset();
    device_ = open();
    ASSERT_TRUE(device_);
    memory_.emplace(*DeviceBuffer::make(*device_, words * 8));
    results_memory_.emplace(*DeviceBuffer::make(*device_, sizeof(MemoryPassResults)));
    params_.base_address = memory_->address();
    params_.words = words;
    params_.results_address = results_memory_->address();
  }
  void launch(const Kernel& kernel, unsigned blocks = 3) {
    const auto done =
        device_->launch({}, kernel, {.blocks = blocks, .threads = 256}, &params_, sizeof params_);
    ASSERT_TRUE(done) << done.error().message;
  }
  void clear_results() {
    results_ = {};
    results_.first_bad_index = ~0ull;
    ASSERT_TRUE(device_->copy_to_device({}, params_.results_address, &results_, sizeof results_));
  }
  void read_results() {
    ASSERT_TRUE(device_->copy_to_host({}, &results_, params_.results_address, sizeof results_));
    ASSERT_TRUE(device_->synchronize({}));
  }
  void verify(unsigned blocks = 3) {
    clear_results();
    launch(kMemoryVerify, blocks);
    read_results();
  }
  std::vector<u64> read_words() {
    std::vector<u64> words(memory_->bytes() / 8);
    EXPECT_TRUE(device_->copy_to_host({}, words.data(), memory_->address(), memory_->bytes()));
    EXPECT_TRUE(device_->synchronize({}));
    return words;
  }
  void write_word(u64 index, u64 value) {
    ASSERT_TRUE(device_->copy_to_device({}, memory_->address() + index * 8, &value, 8));
  }

  std::unique_ptr<Device> device_;
  std::optional<DeviceBuffer> memory_, results_memory_;
  MemoryPassParams params_{};
  MemoryPassResults results_{};
};

TEST_F(VulkanMemoryKernelsTest, WritesTheMixOfEachPositionAndNothingElse) {
  make(100'002);
  for (const u64 invert : {0ull, ~0ull}) {
    write_word(100'000, 7);
    write_word(100'001, 7);
    params_.words = 100'000;
    params_.salt = 0xfedcba98f6543210;  // positions cross 32 bits
    params_.invert = invert;
    launch(kMemoryWrite);
    const auto words = read_words();
    for (u64 i = 0; i < params_.words; ++i)
      ASSERT_EQ(words[i], mix_word(i + params_.salt, invert)) << i;
    EXPECT_EQ(words[100'000], 7u);
    EXPECT_EQ(words[100'001], 7u);
  }
}

TEST_F(VulkanMemoryKernelsTest, VerifyCountsAndSumsEveryWord) {
  for (const u64 n : {2ull, 2046ull, 2048ull, 50'006ull}) {
    make(n);
    params_.salt = 0x99ffffff00ull;
    launch(kMemoryWrite);
    verify();
    EXPECT_EQ(results_.words_verified, n);
    EXPECT_EQ(results_.position_sum, n * (n - 1) / 2 + n * params_.salt);
    EXPECT_EQ(results_.bad_words, 0u);
    EXPECT_EQ(results_.first_bad_index, ~0ull);
  }
}

TEST_F(VulkanMemoryKernelsTest, SumsOfSeveralLaunchesCarryInto64Bits) {
  make(8192);
  params_.salt = 0xffffffffff000000;
  launch(kMemoryWrite);
  clear_results();
  u64 sum = 0;
  for (int pass = 0; pass < 50; ++pass) {
    launch(kMemoryVerify);
    for (u64 i = 0; i < 8192; ++i) sum += i + params_.salt;
  }
  read_results();
  EXPECT_EQ(results_.words_verified, 50u * 8192);
  EXPECT_EQ(results_.position_sum, sum);
}

TEST_F(VulkanMemoryKernelsTest, EachBadWordIsReportedExactly) {
  make(40'000);
  params_.salt = 5;
  params_.invert = ~0ull;
  params_.first_index = 1ull << 33;
  launch(kMemoryWrite);
  const auto words = read_words();
  for (const u64 i : {1ull, 2047ull, 2048ull, 8192ull, 39'999ull})
    write_word(i, words[i] ^ 1ull << (i % 64));
  verify();
  EXPECT_EQ(results_.bad_words, 5u);
  EXPECT_EQ(results_.recorded, 5u);
  EXPECT_EQ(results_.first_bad_index, params_.first_index + 1);
  for (unsigned i = 0; i < 5; ++i) {
    const MemoryBadWord& word = results_.entries[i];
    EXPECT_EQ(word.expected ^ word.actual, 1ull << (word.index % 64));
    EXPECT_EQ(word.expected, mix_word(word.index + 5, ~0ull));
  }
}

TEST_F(VulkanMemoryKernelsTest, MoreBadWordsThanFitAreCountedAllTheSame) {
  make(100'000);
  launch(kMemoryWrite);
  params_.salt = 1;  // every word is another's
  verify(16);
  EXPECT_EQ(results_.bad_words, 100'000u);
  EXPECT_EQ(results_.words_verified, 100'000u);
  EXPECT_EQ(results_.first_bad_index, 0u);
  EXPECT_GE(results_.recorded, kMemoryBadWordCapacity);
  std::vector<bool> seen(100'000);
  for (const MemoryBadWord& word : results_.entries) {
    ASSERT_LT(word.index, seen.size());
    EXPECT_FALSE(seen[word.index]) << "once each";
    seen[word.index] = true;
  }
}

TEST_F(VulkanMemoryKernelsTest, AnInjectedFaultIsStoredInThatWordAlone) {
  make(20'000);
  for (const u64 index : {0ull, 12'345ull, 19'999ull}) {
    params_.first_index = 1000;  // this part starts there
    params_.fault_index = 1000 + index;
    params_.fault_bits = 0x10'0000'0000;
    launch(kMemoryWrite);
    params_.fault_bits = 0;
    verify();
    ASSERT_EQ(results_.bad_words, 1u);
    EXPECT_EQ(results_.first_bad_index, 1000 + index);
    EXPECT_EQ(results_.entries[0].expected ^ results_.entries[0].actual, 0x10'0000'0000u);
  }
}

TEST_F(VulkanMemoryKernelsTest, CopiesEveryWord) {
  make(20'006);
  launch(kMemoryWrite);
  auto target = DeviceBuffer::make(*device_, memory_->bytes());
  ASSERT_TRUE(target);
  const MemoryCopyParams params{target->address(), memory_->address(), memory_->bytes()};
  ASSERT_TRUE(
      device_->launch({}, kMemoryCopy, {.blocks = 5, .threads = 256}, &params, sizeof params));
  params_.base_address = target->address();
  verify();
  EXPECT_EQ(results_.words_verified, 20'006u);
  EXPECT_EQ(results_.bad_words, 0u);
}

}  // namespace
}  // namespace gpuready
