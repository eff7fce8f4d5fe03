#include "bench/run/request.h"

#include <gtest/gtest.h>

#include <map>

namespace gpuready::bench {
namespace {

Result<Request> from(std::map<std::string, std::string> variables) {
  return request_from([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(Request, DefaultsAreThePlaybooks) {
  const auto request = from({});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->device, "cuda");
  EXPECT_EQ(request->dtype, Dtype::fp16);
  EXPECT_EQ(request->batch, 64u);
  EXPECT_EQ(request->hidden, 2048u);
  EXPECT_EQ(request->iters, 80u);
  EXPECT_EQ(request->warmup, 20u);
  EXPECT_EQ(from({{"BENCH_DEVICE", "cpu"}})->dtype, Dtype::fp32);
}

TEST(Request, DeviceAndDtypeAreThoseNamedOrTheMachines) {
  const auto asked = [](const char* device, const char* dtype, bool has_gpu) {
    const auto request = request_of({}, "mlp", device, dtype, has_gpu);
    return request ? fmt::format("{} {}", request->device, to_string(request->dtype))
                   : request.error().message;
  };
  EXPECT_EQ(asked("", "", true), "cuda fp16");
  EXPECT_EQ(asked("", "", false), "cpu fp32");
  EXPECT_EQ(asked("cpu", "", true), "cpu fp32");
  EXPECT_EQ(asked("cuda", "", false), "cuda fp16");
  EXPECT_EQ(asked("vulkan", "", true), "vulkan fp32");
  EXPECT_EQ(asked("", "bfloat16", true), "cuda bf16");
  EXPECT_EQ(asked("cuda", "fp32", true), "cuda fp32");
  EXPECT_EQ(asked("cpu", "half", false), "cpu fp16");
}

TEST(Request, ATaskGetsItsSizesAndImpossibleOnesAreRefused) {
  Request sizes;
  sizes.m = 3;
  const auto gemm = request_of(sizes, "gemm", "cpu", "", false);
  ASSERT_TRUE(gemm);
  EXPECT_EQ(gemm->task, Task::gemm);
  EXPECT_EQ(gemm->m, 3u);
  EXPECT_GT(gemm->n, 0u);
  sizes.m = kMostElements;
  EXPECT_FALSE(request_of(sizes, "gemm", "cpu", "", false));
}

TEST(Request, GoesThroughVariablesAndBack) {
  Request asked;
  asked.task = Task::gemm;
  asked.device = "cuda";
  asked.dtype = Dtype::bf16;
  asked.m = 3, asked.n = 5, asked.k = 7, asked.iters = 11, asked.warmup = 0, asked.seed = 13;
  std::map<std::string, std::string> variables;
  for (const auto& [name, value] : variables_of(asked)) variables[name] = value;
  const auto back = from(variables);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(variables_of(*back), variables_of(asked));
}

// PyC's suite has no protocol of ours; its names, and those of frameworks.
TEST(Request, OfAnotherSuiteIsOfSingleIterations) {
  EXPECT_TRUE(from({})->single_iterations);
  EXPECT_FALSE(from({{"BENCH_PROTOCOL", "gpuready.bench/1"}})->single_iterations);
  const std::pair<const char*, Dtype> names[] = {
      {"fp32", Dtype::fp32},     {"float32", Dtype::fp32}, {"f32", Dtype::fp32},
      {"float", Dtype::fp32},    {"tf32", Dtype::tf32},    {"bf16", Dtype::bf16},
      {"bfloat16", Dtype::bf16}, {"fp16", Dtype::fp16},    {"float16", Dtype::fp16},
      {"f16", Dtype::fp16},      {"half", Dtype::fp16}};
  for (const auto& [name, dtype] : names) EXPECT_EQ(from({{"BENCH_DTYPE", name}})->dtype, dtype);
  EXPECT_EQ(dtype_names().size(), std::size(names));
}

TEST(Request, CountsWorkByDefinition) {
  Request mlp;  // batch 64, hidden 2048
  mlp.m = 7;    // of other tasks
  const Workload workload = workload_of(*complete(mlp));
  EXPECT_EQ(workload.flops, 16ull * 64 * 2048 * 2048 + 2ull * 64 * 64 * 2048);
  EXPECT_EQ(workload.rows, 64u);
  EXPECT_EQ(workload.elements, 64u * 2048);
  // x, w1, b1, w2, b2, y, z in fp32.
  EXPECT_EQ(workload.bytes,
            4ull * (64 * 2048 + 8192 * 2048 + 8192 + 2048 * 8192 + 2048 + 64 * 2048 + 64 * 64));
  Request gemm;
  gemm.task = Task::gemm;
  gemm.m = 3, gemm.n = 5, gemm.k = 7;
  const Workload product = workload_of(*complete(gemm));
  EXPECT_EQ(product.flops, 2u * 3 * 5 * 7);
  EXPECT_EQ(product.rows, 3u);
  EXPECT_EQ(product.elements, 3u * 5);
  EXPECT_EQ(product.bytes, 4u * (3 * 7 + 7 * 5 + 3 * 5));
  Request copy;
  copy.task = Task::copy;
  EXPECT_EQ(workload_of(*complete(copy)).flops, 0u);
  EXPECT_EQ(workload_of(*complete(copy)).bytes, 2ull * 8192 * 8192 * 4);
  EXPECT_EQ(workload_of(*complete(copy)).rows, 8192u);
  // Each of m words of a sequence looks at all m, by its keys and then by its values.
  Request attention;
  attention.task = Task::attention;
  attention.batch = 3, attention.hidden = 128, attention.m = 5;
  const Workload attended = workload_of(*complete(attention));
  EXPECT_EQ(attended.flops, 3u * (2 * 5 * 5 * 128 + 2 * 5 * 5 * 128));
  EXPECT_EQ(attended.rows, 3u);
  EXPECT_EQ(attended.elements, 3u * 5 * 128);
  EXPECT_EQ(attended.bytes, 4u * 4 * 3 * 5 * 128);  // q, k, v and the result
}

TEST(Request, TheDeviceIsOneOfThree) {
  for (const char* device : {"cuda", "cpu", "vulkan"}) {
    const auto request = from({{"BENCH_DEVICE", device}});
    ASSERT_TRUE(request) << request.error().message;
    EXPECT_EQ(request->device, device);
  }
  for (const std::string other : {"", "CUDA", "metal"}) {
    const auto request = from({{"BENCH_DEVICE", other}});
    ASSERT_FALSE(request) << other;
    EXPECT_EQ(request.error().message, "BENCH_DEVICE=" + other + ": expected cuda, cpu or vulkan");
  }
}

TEST(Request, RefusesWhatIsNoWorkload) {
  const std::pair<const char*, const char*> wrong[] = {
      {"BENCH_BATCH", "0"},       {"BENCH_BATCH", "-1"},         {"BENCH_BATCH", "x"},
      {"BENCH_HIDDEN", "8193"},   {"BENCH_BATCH", "9999999999"}, {"BENCH_DEVICE", "tpu"},
      {"BENCH_DTYPE", "fp8"},     {"BENCH_TASK", "conv"},        {"BENCH_MAX_SECONDS", "nan"},
      {"BENCH_MAX_SECONDS", "0"}, {"BENCH_ITERS", "0"},
  };
  for (const auto& [name, value] : wrong) {
    const auto request = from({{name, value}});
    ASSERT_FALSE(request) << name << "=" << value;
    EXPECT_EQ(request.error().kind == ErrorKind::bad_input ||
                  request.error().kind == ErrorKind::too_large,
              true);
  }
  EXPECT_FALSE(from({{"BENCH_DEVICE", "cpu"}, {"BENCH_DTYPE", "tf32"}}));
}

}  // namespace
}  // namespace gpuready::bench
