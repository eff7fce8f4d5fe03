// The memory kernels in SPIR-V do what the CPU's do: the same words in memory, the same results.
#include <algorithm>
#include <tuple>
#include <vector>

#include "base/units.h"
#include "kernel_abi/memory_mix.h"
#include "kernels/cpu/memory_cpu.h"
#include "kernels/memory_kernels.h"
#include "unit/device/vulkan/vulkan_fixture.h"

namespace gpuready {
namespace {

using u64 = unsigned long long;

constexpr u64 kWords = 20'006;  // nine whole tiles, and a rest

// Memory of the host and of the device on which the same kernels run.
class VulkanMemoryKernelsTest : public VulkanTest {
 protected:
  void SetUp() override {
    VulkanTest::SetUp();
    if (IsSkipped()) return;
    device_ = open();
    ASSERT_TRUE(device_);
    memory_.emplace(*DeviceBuffer::make(*device_, kWords * 8));
    results_memory_.emplace(*DeviceBuffer::make(*device_, sizeof(MemoryPassResults)));
    faults_memory_.emplace(*DeviceBuffer::make(*device_, 64 * sizeof(MemoryFaultEntry)));
    words_.resize(kWords);
    for (u64 i = 0; i < kWords; ++i) words_[i] = mix_word(i, 0x5555);  // what was there before
    upload(memory_->address(), words_.data(), kWords * 8);
    params_.words = kWords;
    params_.first_index = (1ull << 33) + 1000;  // this part starts there
  }
  void upload(DeviceAddress target, const void* source, std::uint64_t bytes) {
    ASSERT_TRUE(device_->copy_to_device({}, target, source, bytes));
    ASSERT_TRUE(device_->synchronize({}));
  }
  void set_faults(std::vector<MemoryFaultEntry> faults) {
    upload(faults_memory_->address(), faults.data(), faults.size() * sizeof faults[0]);
    faults_ = std::move(faults);
    params_.fault_count = faults_.size();
  }
  MemoryPassResults run_on_host(CpuKernel kernel) {
    MemoryPassResults results{};
    results.first_bad_index = ~0ull;
    MemoryPassParams p = params_;
    p.base_address = reinterpret_cast<u64>(words_.data());
    p.results_address = reinterpret_cast<u64>(&results);
    p.faults_address = reinterpret_cast<u64>(faults_.data());
    kernel(&p, {0, 1});
    return results;
  }
  MemoryPassResults run_on_device(const Kernel& kernel, unsigned blocks) {
    MemoryPassResults results{};
    results.first_bad_index = ~0ull;
    upload(results_memory_->address(), &results, sizeof results);
    MemoryPassParams p = params_;
    p.base_address = memory_->address();
    p.results_address = results_memory_->address();
    p.faults_address = faults_memory_->address();
    const auto done = device_->launch({}, kernel, {.blocks = blocks, .threads = 256}, &p, sizeof p);
    EXPECT_TRUE(done) << done.error().message;
    EXPECT_TRUE(device_->copy_to_host({}, &results, results_memory_->address(), sizeof results));
    EXPECT_TRUE(device_->synchronize({}));
    return results;
  }
  std::vector<u64> device_words() {
    std::vector<u64> words(kWords);
    EXPECT_TRUE(device_->copy_to_host({}, words.data(), memory_->address(), kWords * 8));
    EXPECT_TRUE(device_->synchronize({}));
    return words;
  }
  static auto sorted_entries(const MemoryPassResults& results) {
    std::vector<std::tuple<u64, u64, u64>> entries;
    const auto count = std::min<u64>(results.recorded, kMemoryBadWordCapacity);
    for (u64 i = 0; i < count; ++i) {
      const MemoryBadWord& word = results.entries[i];
      entries.emplace_back(word.index, word.expected, word.actual);
    }
    std::sort(entries.begin(), entries.end());
    return entries;
  }
  static std::pair<u64, u64> sums(const MemoryPassResults& results) {
    std::pair<u64, u64> all;
    for (const MemoryCountSlot& slot : results.slots) {
      all.first += slot.words_verified;
      all.second += slot.name_sum;
    }
    return all;
  }
  // One kernel on both: equal memory, equal results. Returns how many words were bad.
  u64 expect_equal(const Kernel& kernel, unsigned blocks) {
    SCOPED_TRACE(testing::Message() << kernel.name << " pattern " << params_.pattern << " invert "
                                    << (params_.invert & 1) << " blocks " << blocks);
    const auto host = run_on_host(kernel.cpu), device = run_on_device(kernel, blocks);
    const auto words = device_words();
    const auto [a, b] = std::mismatch(words.begin(), words.end(), words_.begin());
    EXPECT_EQ(a - words.begin(), static_cast<std::ptrdiff_t>(kWords)) << kernel.name;
    EXPECT_EQ(sums(device), sums(host)) << kernel.name;
    EXPECT_EQ(device.bad_words, host.bad_words) << kernel.name;
    EXPECT_EQ(device.first_bad_index, host.first_bad_index) << kernel.name;
    if (host.bad_words <= kMemoryBadWordCapacity) {
      EXPECT_EQ(sorted_entries(device), sorted_entries(host)) << kernel.name;
    }
    return device.bad_words;
  }

  std::unique_ptr<Device> device_;
  std::optional<DeviceBuffer> memory_, results_memory_, faults_memory_;
  std::vector<u64> words_;
  std::vector<MemoryFaultEntry> faults_;
  MemoryPassParams params_{};
};

TEST_F(VulkanMemoryKernelsTest, EveryPatternIsWrittenInvertedAndVerified) {
  for (const u64 pattern : {kPatternAddress, kPatternRandom, kPatternWalking, kPatternModulo}) {
    for (const u64 invert : {0ull, ~0ull}) {
      params_.pattern = pattern;
      params_.invert = invert;
      params_.salt = 0xfedcba98'f6543210;  // names cross 32 bits
      params_.key = pattern == kPatternRandom ? 0x0123456789abcdef : 13;
      params_.descending = invert & 1;
      EXPECT_EQ(expect_equal(kMemoryWrite, 4), 0u);
      EXPECT_EQ(expect_equal(kMemoryVerify, 3), 0u);
      EXPECT_EQ(expect_equal(kMemoryInvert, 3), 0u);
      params_.invert = ~invert;
      EXPECT_EQ(expect_equal(kMemoryVerify, 100), 0u) << "more blocks than tiles";
    }
  }
}

TEST_F(VulkanMemoryKernelsTest, TheModuloPatternsOthersAreWrittenAlone) {
  params_.pattern = kPatternModulo;
  params_.key = 7;
  for (const u64 select : {kWriteAll, kWriteOthers}) {
    params_.select = select;
    (void)expect_equal(kMemoryWrite, 3);
  }
  params_.select = kWriteAll;
  EXPECT_EQ(expect_equal(kMemoryVerify, 3), 0u);
}

TEST_F(VulkanMemoryKernelsTest, FaultsOfEveryKindAreMadeWhereTheTableSays) {
  const u64 first = params_.first_index;
  std::vector<MemoryFaultEntry> faults;
  for (const u64 word : {0ull, 1ull, 2047ull, 2048ull, 12'345ull, 18'432ull, 20'005ull})
    for (const u64 kind : {kFaultFlip, kFaultStuck, kFaultKeep, kFaultCouple})
      if (word + kind < kWords || kind == kFaultFlip)
        faults.push_back({kind, first + word + (word + 40 < kWords ? kind * 7 : 0),
                          1ull << (word % 64), kind % 2 ? ~0ull : 0, first + word / 2,
                          1ull << (word % 61), 0, 0});
  // One fault a word: what two do to the same is not defined.
  std::sort(faults.begin(), faults.end(),
            [](const auto& a, const auto& b) { return a.word < b.word; });
  faults.erase(std::unique(faults.begin(), faults.end(),
                           [](const auto& a, const auto& b) { return a.word == b.word; }),
               faults.end());
  ASSERT_GT(faults.size(), 20u);
  set_faults(faults);
  for (const u64 pattern : {kPatternAddress, kPatternRandom, kPatternWalking, kPatternModulo}) {
    params_.pattern = pattern;
    params_.invert = 0;
    (void)expect_equal(kMemoryWrite, 3);
    EXPECT_GT(expect_equal(kMemoryVerify, 3), 7u);
    EXPECT_GT(expect_equal(kMemoryInvert, 3), 7u);
    params_.invert = ~0ull;
    EXPECT_GT(expect_equal(kMemoryVerify, 3), 7u);
  }
}

TEST_F(VulkanMemoryKernelsTest, MoreBadWordsThanFitAreCountedAllTheSame) {
  (void)expect_equal(kMemoryWrite, 3);
  params_.salt = 1;  // every word is another's
  EXPECT_EQ(expect_equal(kMemoryVerify, 16), kWords);
}

TEST_F(VulkanMemoryKernelsTest, SumsOfSeveralLaunchesCarryInto64Bits) {
  params_.salt = 0xffffffff'ff000000;
  (void)expect_equal(kMemoryWrite, 3);
  const auto one = sums(run_on_device(kMemoryVerify, 3));
  MemoryPassParams p = params_;
  p.base_address = memory_->address();
  p.results_address = results_memory_->address();
  for (int i = 0; i < 40; ++i)  // onto the results of the first
    ASSERT_TRUE(device_->launch({}, kMemoryVerify, {.blocks = 3, .threads = 256}, &p, sizeof p));
  MemoryPassResults results{};
  ASSERT_TRUE(device_->copy_to_host({}, &results, p.results_address, sizeof results));
  ASSERT_TRUE(device_->synchronize({}));
  EXPECT_EQ(sums(results), std::pair(one.first * 41, one.second * 41));
}

TEST_F(VulkanMemoryKernelsTest, CopiesEveryWord) {
  auto target = DeviceBuffer::make(*device_, memory_->bytes());
  ASSERT_TRUE(target);
  const MemoryCopyParams params{target->address(), memory_->address(), memory_->bytes()};
  const LaunchShape shape{.blocks = 5, .threads = 256};
  ASSERT_TRUE(device_->launch({}, kMemoryCopy, shape, &params, sizeof params));
  std::vector<u64> copied(kWords);
  ASSERT_TRUE(device_->copy_to_host({}, copied.data(), target->address(), kWords * 8));
  ASSERT_TRUE(device_->synchronize({}));
  EXPECT_EQ(copied, words_);
}

}  // namespace
}  // namespace gpuready
