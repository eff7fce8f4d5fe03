#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "bench/native/narrow.h"
#include "bench/native/native_stack.h"
#include "bench/run/answer.h"
#include "bench/run/inputs.h"
#include "ternary/device/choose.h"

namespace gpuready::bench {
namespace {

TEST(Narrow, KnowsValuesOfFp16AndBf16) {
  struct Case {
    float value;
    std::uint16_t fp16, bf16;
  };
  const Case cases[] = {{1, 0x3c00, 0x3f80},
                        {-2, 0xc000, 0xc000},
                        {65504, 0x7bff, 0x4780},
                        {65520, 0x7c00, 0x4780},
                        {0.0f, 0x0000, 0x0000},
                        {std::ldexp(1.0f, -24), 0x0001, 0x3380},
                        {std::ldexp(1.0f, -14), 0x0400, 0x3880},
                        {1 + std::ldexp(1.0f, -11), 0x3c00, 0x3f80},  // ties to even
                        {1 + std::ldexp(3.0f, -11), 0x3c02, 0x3f80},
                        {INFINITY, 0x7c00, 0x7f80}};
  for (const Case& each : cases) {
    std::uint16_t half = 0;
    std::memcpy(&half, narrowed(std::vector{each.value}, Dtype::fp16).data(), 2);
    EXPECT_EQ(half, each.fp16) << each.value;
    std::memcpy(&half, narrowed(std::vector{each.value}, Dtype::bf16).data(), 2);
    EXPECT_EQ(half, each.bf16) << each.value;
  }
}

TEST(Narrow, EveryFp16ComesBack) {
  for (unsigned bits = 0; bits < 0x7c00; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    unsigned char bytes[2];
    std::memcpy(bytes, &half, 2);
    const auto values = widened(bytes, Dtype::fp16);
    std::uint16_t back = 0;
    std::memcpy(&back, narrowed(values, Dtype::fp16).data(), 2);
    ASSERT_EQ(back, half);
  }
}

TEST(Narrow, InputsAreExactInEveryDtype) {
  Request request;
  request.batch = 4, request.hidden = 64;
  for (const Input& input : inputs_of(request))
    for (const Dtype dtype : {Dtype::bf16, Dtype::fp16})
      EXPECT_EQ(widened(narrowed(input.values, dtype), dtype), input.values);
}

Request sized(Task task, std::string device = "cpu", Dtype dtype = Dtype::fp32) {
  Request request;
  request.task = task;
  request.device = std::move(device);
  request.dtype = dtype;
  request.batch = 3, request.hidden = 64, request.m = 70, request.n = 7, request.k = 40;
  request.iters = 3, request.warmup = 2, request.max_seconds = 0.02;
  request.cold_samples = request.device == "cpu" ? 0 : 1;  // a CPU's caches take long to flush
  return *complete(request);
}

// The whole way of an adapter: measured, answered, read and checked.
Answer done(const Request& request) {
  const NativeAnswer said = answer_natively("gpuready", request, [](auto) {});
  EXPECT_EQ(said.exit_code, 0) << dump(said.doc);
  Answer answer = read_answer(dump_line(said.doc), request);
  check_digest(answer, request, reference_digests(request, 1));
  return answer;
}
void expect_done(const Request& request) {
  const Answer answer = done(request);
  EXPECT_EQ(answer.repeat.status, StackStatus::ok)
      << to_string(request.task) << " on " << request.device << ": " << answer.repeat.reason;
  EXPECT_GE(answer.repeat.samples_ns.size(), 3u);
  EXPECT_EQ(answer.sampled_at_ms.size(), answer.repeat.samples_ns.size());
  EXPECT_EQ(answer.repeat.cold_samples_ns.size(), request.cold_samples);
}

constexpr Task kEveryTask[] = {Task::mlp, Task::gemm, Task::attention, Task::copy, Task::ternary};

TEST(NativeStack, CpuDoesEveryWorkload) {
  for (const Task task : kEveryTask) expect_done(sized(task));
}

// On a GPU, or on a Vulkan driver that is software.
TEST(NativeStack, VulkanDoesEveryWorkload) {
  const Answer copied = done(sized(Task::copy, "vulkan"));
  if (copied.repeat.status == StackStatus::unavailable) GTEST_SKIP() << copied.repeat.reason;
  for (const Task task : kEveryTask) expect_done(sized(task, "vulkan"));
}

// The ternary kernels' own list says which GPUs there are.
TEST(NativeStack, AGpuThatIsFoundComputesAndIsNamed) {
  const auto found = ternary::discover_gpus({.kind = ternary::TargetKind::vulkan, .id = {}}).gpus;
  const Answer answer = done(sized(Task::copy, "vulkan"));
  EXPECT_EQ(answer.repeat.status == StackStatus::unavailable, found.empty())
      << answer.repeat.reason;
  if (!found.empty()) {
    EXPECT_TRUE(std::ranges::count(found, answer.device_name, &ternary::GpuCandidate::name) > 0)
        << answer.device_name;
  }
}

TEST(NativeStack, TernaryProductsAreExactInEveryDtype) {
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
    const Request request = sized(Task::ternary, "cpu", dtype);
    expect_done(request);
    if (dtype == Dtype::bf16) continue;  // which rounds what it writes
    const NativeAnswer said = answer_natively("gpuready", request, [](auto) {});
    const auto y = said.doc["digest"]["y"].get<std::vector<double>>();
    const auto expected = reference_digests(request, 1);
    for (std::size_t i = 0; i < y.size(); ++i)
      EXPECT_NEAR(y[i], expected[i].value, 1e-12 * expected[i].scale);
  }
}

// The kernels write FP32 and BF16.
TEST(NativeStack, ANoteSaysThatTernaryOutputsOfFp16AreFp32) {
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
    const auto notes = done(sized(Task::ternary, "cpu", dtype)).repeat.notes;
    EXPECT_EQ(std::ranges::count(notes, "outputs are FP32"), dtype == Dtype::fp16 ? 1 : 0)
        << to_string(dtype);
  }
}

TEST(NativeStack, FinalistsAreTheFavouriteAndTheFastest) {
  using Times = TrialTimes;
  EXPECT_EQ(finalists_of({{5, 2}}), (Times{{5, 2}}));
  EXPECT_EQ(finalists_of({{5, 0}, {4, 1}}), (Times{{5, 0}, {4, 1}}));
  EXPECT_EQ(finalists_of({{4, 0}, {5, 1}}), (Times{{4, 0}}));  // the other one is too slow
  EXPECT_EQ(finalists_of({{9, 1}, {4.19, 2}, {4, 4}, {4.21, 5}}),
            (Times{{9, 1}, {4, 4}, {4.19, 2}}));
  EXPECT_EQ(finalists_of({{4.1, 0}, {4.3, 1}, {4.2, 2}, {4, 3}, {4.15, 4}}),
            (Times{{4.1, 0}, {4, 3}, {4.15, 4}}));  // no more than three
}

TEST(NativeStack, IsSteadyAfterTwoMeansThatAgree) {
  const auto steady_after = [](const std::vector<double>& means) {
    Steadiness steadiness;
    std::size_t count = 0;
    while (count < means.size() && !steadiness.after(means[count])) ++count;
    return count + 1;
  };
  EXPECT_EQ(steady_after({100, 100, 100, 100}), 3u);
  EXPECT_EQ(steady_after({100, 101, 100.5, 99}), 3u);
  EXPECT_EQ(steady_after({100, 100, 98, 98, 98}), 5u);  // in a row
  EXPECT_EQ(steady_after({100, 102, 104, 106}), 5u);    // never
}

TEST(NativeStack, SaysWhatItCannotDo) {
  Request request;
  request.dtype = Dtype::bf16;
  const NativeAnswer said = answer_natively("gpuready", complete(request), [](auto) {});
  EXPECT_EQ(said.exit_code, 0);
  EXPECT_EQ(get_string(said.doc, "status"), "unavailable");
  EXPECT_EQ(get_bool(said.doc, "supported"), false);
  EXPECT_FALSE(read_answer(dump_line(said.doc), request).supported);
  const NativeAnswer wrong =
      answer_natively("gpuready", fail(ErrorKind::bad_input, "BENCH_M=x"), [](auto) {});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_EQ(get_string(wrong.doc, "status"), "error");
}

}  // namespace
}  // namespace gpuready::bench
