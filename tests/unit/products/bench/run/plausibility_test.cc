#include "bench/run/plausibility.h"

#include <gtest/gtest.h>

namespace gpuready::bench {
namespace {

constexpr Span kLife{1000, 3000};
constexpr unsigned kThreads = 2;

Request gemm(const std::string& device, std::uint64_t size, Dtype dtype = Dtype::fp32) {
  Request request;
  request.task = Task::gemm;
  request.device = device;
  request.dtype = dtype;
  request.m = request.n = request.k = size;
  return *complete(request);
}

// Blocks of `each` samples of `ms`; one ends every `every_ms`.
Answer sampled(double ms, std::uint64_t per, std::size_t blocks, std::size_t each, double every_ms,
               double first_ms = 1500) {
  Answer answer;
  answer.iterations_per_sample = per;
  for (std::size_t i = 0; i < blocks * each; ++i) {
    answer.repeat.samples_ns.push_back(ms * 1e6);
    answer.sampled_at_ms.push_back(first_ms + every_ms * static_cast<double>(i / each));
  }
  return answer;
}

StackStatus judged(Answer answer, const Request& request = gemm("cpu", 64), Span life = kLife) {
  check_times(answer, request, life, kThreads);
  return answer.repeat.status;
}

TEST(Believable, HonestTimesAre) {
  using enum StackStatus;
  EXPECT_EQ(judged(sampled(0.01, 100, 3, 80, 81)), ok);
  EXPECT_EQ(judged(sampled(1, 1, 100, 1, 3.2)), ok);      // one sample of a block of three pieces
  EXPECT_EQ(judged(sampled(0.01, 100, 3, 80, 400)), ok);  // a machine with other work
  Answer stalled = sampled(1, 1, 2, 10, 10);  // one block waited long, the other did not
  stalled.sampled_at_ms.insert(stalled.sampled_at_ms.end(), 10, 2900);
  stalled.repeat.samples_ns.insert(stalled.repeat.samples_ns.end(), 10, 1e6);
  EXPECT_EQ(judged(stalled), ok);
  Answer one_block = sampled(1, 1, 1, 80, 0);
  EXPECT_EQ(judged(one_block), ok);
  Answer reported;
  reported.repeat.reported = {
      .mean_ns = 1e6, .p50_ns = 1e6, .p95_ns = {}, .min_ns = {}, .max_ns = {}};
  reported.iterations = 80;
  EXPECT_EQ(judged(reported), ok);
}

TEST(Believable, LessThanAnyDeviceTakesIsNot) {
  using enum StackStatus;
  for (const char* device : {"cpu", "cuda", "vulkan"})
    for (const std::uint64_t size : {1u, 64u, 4096u}) {
      Answer answer;
      answer.repeat.reported = {.mean_ns = 1, .p50_ns = 1, .p95_ns = 1, .min_ns = 1, .max_ns = 1};
      EXPECT_EQ(judged(answer, gemm(device, size)), not_believable) << device << size;
    }
  // What is fast today is believed: an H200 does 800 TFLOP/s in bf16, and its memory 4.8 TB/s.
  EXPECT_LT(least_iteration_ns(gemm("cuda", 8192, Dtype::bf16), 1),
            2.0 * 8192 * 8192 * 8192 / 8e14 * 1e9 / 10);
  // 96 cores with AMX reach 100 TFLOP/s.
  EXPECT_LT(least_iteration_ns(gemm("cpu", 8192, Dtype::bf16), 192),
            2.0 * 8192 * 8192 * 8192 / 1e14 * 1e9 / 5);
  // A mebibyte cannot be copied in 10 ns.
  Request copy;
  copy.task = Task::copy;
  copy.m = 512, copy.n = 512;
  EXPECT_GT(least_iteration_ns(*complete(copy), 2), 10);
}

TEST(Believable, TimesThatContradictTheClockAreNot) {
  using enum StackStatus;
  // Seconds as milliseconds, and the other way round.
  EXPECT_EQ(judged(sampled(0.001, 1, 3, 80, 81)), not_believable);
  EXPECT_EQ(judged(sampled(1000, 1, 3, 80, 81)), not_believable);
  // The time of a sample taken for that of an iteration.
  EXPECT_EQ(judged(sampled(1, 100, 3, 80, 81)), not_believable);
  EXPECT_EQ(judged(sampled(2, 1, 3, 80, 81)), not_believable);
  // Without stamps: no more than the process lived.
  Answer reported;
  reported.repeat.reported.mean_ns = reported.repeat.reported.p50_ns = 50e6;
  EXPECT_EQ(judged(reported), ok);
  reported.iterations = 80;
  EXPECT_EQ(judged(reported), not_believable);
}

// 5% and 1 ms more than passed, and a fifth of it.
TEST(Believable, ClocksMayDifferALittle) {
  using enum StackStatus;
  Answer reported;  // one iteration in the 2000 ms of the process
  reported.repeat.reported.mean_ns = 2101e6;
  EXPECT_EQ(judged(reported), ok);
  reported.repeat.reported.mean_ns = 2101.1e6;
  EXPECT_EQ(judged(reported), not_believable);
  // A sample that ended 100 ms after the one before.
  for (const double ms : {20.0, 106.0}) EXPECT_EQ(judged(sampled(ms, 1, 2, 1, 100)), ok) << ms;
  for (const double ms : {19.9, 106.1})
    EXPECT_EQ(judged(sampled(ms, 1, 2, 1, 100)), not_believable) << ms;
}

TEST(Believable, StampsLieWithinAMillisecondOfTheProcesssLife) {
  const auto stamps = [](double first_ms, double last_ms) {
    Answer answer = sampled((last_ms - first_ms) / 2, 1, 2, 1, last_ms - first_ms, first_ms);
    check_times(answer, gemm("cpu", 64), kLife, kThreads);
    EXPECT_EQ(answer.repeat.status, StackStatus::ok) << answer.repeat.reason;
    EXPECT_EQ(answer.repeat.notes.size(), answer.sampled_at_ms.empty() ? 1u : 0u);
    return answer.sampled_at_ms.size();
  };
  EXPECT_EQ(stamps(999, 3001), 2u);
  EXPECT_EQ(stamps(998.9, 2000), 0u);
  EXPECT_EQ(stamps(2000, 3001.1), 0u);
}

TEST(Believable, StampsOfAnotherClockAreLeftOut) {
  Answer answer = sampled(1, 1, 3, 80, 81, 1.7e12);
  check_times(answer, gemm("cpu", 64), kLife, kThreads);
  EXPECT_EQ(answer.repeat.status, StackStatus::ok);
  EXPECT_TRUE(answer.sampled_at_ms.empty());
  ASSERT_EQ(answer.repeat.notes.size(), 1u);
  EXPECT_NE(answer.repeat.notes[0].find("monotonic"), std::string::npos);
}

}  // namespace
}  // namespace gpuready::bench
