// The pattern and the CPU's kernels.
#include "kernels/memory_kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <memory>
#include <random>
#include <vector>

#include "device/cpu_device.h"
#include "kernel_abi/memory_patterns.h"
#include "kernels/cpu/memory_cpu.h"

namespace gpuready {
namespace {

using u64 = unsigned long long;

static_assert(unmix_word(mix_word(0, 0), 0) == 0);
static_assert(unmix_word(mix_word(~0ull, ~0ull), ~0ull) == ~0ull);

TEST(MemoryMix, UnmixingGivesThePositionBack) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    const u64 position = random() >> (i % 64), invert = i % 2 ? ~0ull : 0;
    ASSERT_EQ(unmix_word(mix_word(position, invert), invert), position);
    ASSERT_EQ(mix_word(unmix_word(position, invert), invert), position) << "onto every word";
  }
}

// An address line that is stuck or shorted must change many bits of what is read.
TEST(MemoryMix, OneAddressBitChangesAboutHalfOfTheWord) {
  std::mt19937_64 random(2);
  for (int bit = 0; bit < 36; ++bit) {
    int flipped = 0;
    constexpr int kTrials = 500;
    for (int i = 0; i < kTrials; ++i) {
      const u64 position = random();
      flipped += std::popcount(mix_word(position, 0) ^ mix_word(position ^ (1ull << bit), 0));
    }
    EXPECT_GE(flipped, 28 * kTrials) << "address bit " << bit;
    EXPECT_LE(flipped, 36 * kTrials) << "address bit " << bit;
  }
}

TEST(MemoryMix, EveryBitTakesBothValuesInAnyRowOfWords) {
  for (u64 start : {0ull, 0x123456789ull, 0xffffffffffff0000ull}) {
    u64 ones = 0, zeros = 0;
    for (u64 i = 0; i < 64; ++i) ones |= mix_word(start + i, 0), zeros |= ~mix_word(start + i, 0);
    EXPECT_EQ(ones & zeros, ~0ull);
  }
}

struct Range {
  std::vector<u64> words;
  std::unique_ptr<MemoryPassResults> results = std::make_unique<MemoryPassResults>();
  explicit Range(std::size_t count) : words(count) {}
  MemoryPassParams params(u64 salt, u64 invert) {
    MemoryPassParams p{};
    p.base_address = reinterpret_cast<u64>(words.data());
    p.words = words.size();
    p.salt = salt;
    p.invert = invert;
    p.results_address = reinterpret_cast<u64>(results.get());
    return p;
  }
  u64 words_verified() const {
    u64 sum = 0;
    for (const auto& slot : results->slots) sum += slot.words_verified;
    return sum;
  }
  u64 name_sum() const {
    u64 sum = 0;
    for (const auto& slot : results->slots) sum += slot.name_sum;
    return sum;
  }
  void run(CpuKernel kernel, const MemoryPassParams& p, unsigned threads = 3) {
    for (unsigned i = 0; i < threads; ++i) kernel(&p, {i, threads});
  }
  void verify(const MemoryPassParams& p) {
    *results = {};
    results->first_bad_index = ~0ull;
    run(cpu_memory_verify, p);
  }
};

TEST(MemoryKernelsCpu, WritesTheMixOfEachPositionAndNothingElse) {
  Range range(100'002);
  for (u64 invert : {0ull, ~0ull}) {
    auto p = range.params(0xfedcba9876543210, invert);
    p.words = 100'000;
    range.words[100'000] = range.words[100'001] = 7;
    range.run(cpu_memory_write, p);
    for (u64 i = 0; i < p.words; ++i) ASSERT_EQ(range.words[i], mix_word(i + p.salt, invert)) << i;
    EXPECT_EQ(range.words[100'000], 7u);
    EXPECT_EQ(range.words[100'001], 7u);
  }
}

TEST(MemoryKernelsCpu, VerifyCountsAndSumsEveryWord) {
  Range range(50'006);
  const auto p = range.params(99, 0);
  range.run(cpu_memory_write, p);
  range.verify(p);
  const u64 n = 50'006;
  EXPECT_EQ(range.words_verified(), n);
  EXPECT_EQ(range.name_sum(), n * (n - 1) / 2 + n * 99);
  EXPECT_EQ(range.results->bad_words, 0u);
}

TEST(MemoryKernelsCpu, EachBadWordIsReportedExactly) {
  Range range(40'000);
  auto p = range.params(5, ~0ull);
  range.run(cpu_memory_write, p);
  for (u64 i : {0, 1, 8191, 8192, 39'999}) range.words[i] ^= 1ull << (i % 64);
  range.verify(p);
  EXPECT_EQ(range.results->bad_words, 5u);
  EXPECT_EQ(range.results->first_bad_index, 0u);
  for (u64 i = 0; i < 5; ++i) {
    const MemoryBadWord& word = range.results->entries[i];
    EXPECT_EQ(word.expected ^ word.actual, 1ull << (word.index % 64));
  }
}

// Each pattern, written and read by the shipped kernels; the sum is that of the decoded names.
constexpr u64 kPatterns[] = {kPatternAddress, kPatternRandom, kPatternWalking, kPatternModulo};

TEST(MemoryKernelsCpu, EveryPatternReadsBackAsWritten) {
  for (const u64 pattern : kPatterns) {
    for (const u64 invert : {0ull, ~0ull}) {
      Range range(30'006);
      auto p = range.params(0xabcdef0123456789, invert);
      p.pattern = pattern;
      p.key = 13;
      p.first_index = 20'000;
      range.run(cpu_memory_write, p);
      for (u64 i = 0; i < p.words; ++i) ASSERT_EQ(range.words[i], word_at(p, p.first_index + i));
      range.verify(p);
      EXPECT_EQ(range.words_verified(), p.words);
      EXPECT_EQ(range.results->bad_words, 0u);
      range.words[29'999] ^= 1;
      range.verify(p);
      EXPECT_EQ(range.results->bad_words, 1u) << pattern;
      EXPECT_EQ(range.results->first_bad_index, 49'999u);
    }
  }
}

TEST(MemoryKernelsCpu, InvertingLeavesTheComplementInEitherDirection) {
  for (const u64 descending : {0ull, 1ull}) {
    Range range(30'006);
    auto p = range.params(77, 0);
    range.run(cpu_memory_write, p);
    range.words[3] ^= 2;
    p.descending = descending;
    *range.results = {};
    range.results->first_bad_index = ~0ull;
    range.run(cpu_memory_invert, p);
    EXPECT_EQ(range.words_verified(), p.words);
    EXPECT_EQ(range.results->bad_words, 1u);
    p.invert = ~0ull;
    range.verify(p);
    EXPECT_EQ(range.results->bad_words, 0u);
  }
}

TEST(MemoryPatterns, OneGroupOfTwentyHoldsTheWordAndTheOthersItsComplement) {
  MemoryPassParams p{};
  p.pattern = kPatternModulo;
  p.key = 3;
  for (u64 i = 0; i < 320; ++i) {
    const u64 run_word = mix_word(i / 80, 0);
    EXPECT_EQ(word_at(p, i), i / 4 % 20 == 3 ? run_word : ~run_word) << i;
  }
}

TEST(MemoryPatterns, RewritingTheOthersLeavesOneGroupOfTwentyAlone) {
  Range range(8'000);
  auto p = range.params(5, 0);
  p.pattern = kPatternModulo;
  p.key = 19;
  p.select = kWriteOthers;
  range.run(cpu_memory_write, p);
  u64 left = 0;
  for (const u64 word : range.words) left += word == 0;
  EXPECT_EQ(left, 400u);
  range.verify(p);
  EXPECT_EQ(range.results->bad_words, 400u);
}

TEST(MemoryPatterns, WalkingBitsHaveOneBitAndItsNeighboursTheNext) {
  MemoryPassParams p{};
  p.pattern = kPatternWalking;
  p.key = 60;
  for (u64 i = 0; i < 200; ++i) EXPECT_EQ(word_at(p, i), 1ull << (i + 60) % 64);
}

TEST(MemoryKernelsCpu, AnInjectedFaultIsStoredInThatWordAlone) {
  MemoryFaultEntry fault{};
  fault.word = 1000 + 12'345;
  fault.bits = 0x10;
  fault.aggressor = fault.word + 1;
  const u64 kept = 42;
  for (const u64 kind : {kFaultFlip, kFaultStuck, kFaultKeep, kFaultCouple}) {
    Range range(20'000);
    auto p = range.params(1, 0);
    p.first_index = 1000;  // this part starts there
    p.faults_address = reinterpret_cast<u64>(&fault);
    p.fault_count = 1;
    const u64 written = word_at(p, fault.word);
    fault.kind = kind;
    fault.value = kind == kFaultStuck ? ~written : word_at(p, fault.aggressor);
    fault.trigger = 1ull << 63;
    fault.value = (kind == kFaultStuck ? ~written >> 4 & 1 : fault.value >> 63) ? ~0ull : 0;
    range.words[12'345] = kept;
    range.run(cpu_memory_write, p);
    range.verify(p);
    ASSERT_EQ(range.results->bad_words, 1u) << kind;
    EXPECT_EQ(range.results->first_bad_index, 13'345u);
    EXPECT_EQ(range.words[12'345], kind == kFaultKeep ? kept : written ^ 0x10) << kind;
  }
}

#if defined(__x86_64__)
TEST(MemoryKernelsCpu, TheAvx2TierEqualsTheScalarOne) {
  if (&cpu::memory_tier() != &cpu::kMemoryAvx2) GTEST_SKIP() << "this CPU has no AVX2";
  for (std::size_t start : {0, 2}) {
    for (std::size_t count : {2, 4, 6, 64, 1022}) {
      std::vector<u64> a(2048, 3), b(2048, 3);
      cpu::kMemoryAvx2.write(a.data() + start, count, 0xfffffffe, ~0ull);
      cpu::kMemoryScalar.write(b.data() + start, count, 0xfffffffe, ~0ull);
      cpu::kMemoryAvx2.flush(a.data(), a.size() * 8);
      ASSERT_EQ(a, b);
      const auto good = cpu::kMemoryAvx2.verify(b.data() + start, count, 0xfffffffe, ~0ull);
      EXPECT_TRUE(good.all_good);
      b[start + count - 1] ^= 1;
      const auto x = cpu::kMemoryAvx2.verify(b.data() + start, count, 0xfffffffe, ~0ull);
      const auto y = cpu::kMemoryScalar.verify(b.data() + start, count, 0xfffffffe, ~0ull);
      EXPECT_FALSE(x.all_good);
      EXPECT_FALSE(y.all_good);
      EXPECT_EQ(x.name_sum, y.name_sum);
    }
  }
}
#endif

TEST(CpuDevice, RunsAKernelOnAllItsThreads) {
  CpuDeviceOptions options;
  options.threads = 3;
  auto device = make_cpu_device(options);
  auto memory = DeviceBuffer::make(*device, 1 << 20);
  ASSERT_TRUE(memory);
  auto results = DeviceBuffer::make(*device, sizeof(MemoryPassResults));
  MemoryPassParams p{};
  p.base_address = memory->address();
  p.words = memory->bytes() / 8;
  p.results_address = results->address();
  ASSERT_TRUE(device->launch({}, kMemoryWrite, {}, &p, sizeof p));
  ASSERT_TRUE(device->launch({}, kMemoryVerify, {}, &p, sizeof p));
  u64 verified = 0;
  for (const auto& slot : reinterpret_cast<MemoryPassResults*>(results->address())->slots)
    verified += slot.words_verified;
  EXPECT_EQ(verified, p.words);
}

TEST(CpuDevice, AnAliasedAllocationIsOneMemoryAtTwoAddresses) {
  auto device = make_cpu_device({});
  auto memory = DeviceBuffer::make_aliased(*device, 10'000);
  ASSERT_TRUE(memory) << memory.error().message;
  const u64 half = memory->bytes() / 2;
  EXPECT_GE(half, 10'000u);
  auto* lower = reinterpret_cast<volatile u64*>(memory->address());
  auto* upper = reinterpret_cast<volatile u64*>(memory->address() + half);
  lower[5] = 99;
  EXPECT_EQ(upper[5], 99u);
}

TEST(CpuDevice, AnAllocationThatIsTooLargeIsOutOfMemory) {
  auto device = make_cpu_device({});
  auto memory = device->allocate(1ull << 60);
  ASSERT_FALSE(memory);
  EXPECT_EQ(device->fault_of(memory.error()), DeviceFault::out_of_memory);
}

}  // namespace
}  // namespace gpuready
