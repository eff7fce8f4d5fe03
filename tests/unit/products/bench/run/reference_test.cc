#include "bench/run/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "bench/run/inputs.h"

namespace gpuready::bench {
namespace {

// The first bytes of stream 1 with seed 1 are those of SplitMix64 begun with 257, worked out by
// Python's integers.
TEST(Inputs, AreThoseOfTheDefinition) {
  const auto bytes = input_bytes(1, 1, 20);
  const std::vector<std::uint8_t> expected = {36, 39, 96, 80, 35, 50,  41,  115, 235, 127,
                                              43, 58, 45, 42, 25, 133, 118, 157, 41,  92};
  EXPECT_EQ(bytes, expected);
}

TEST(Inputs, WeightScaleIsAPowerOfTwo) {
  EXPECT_EQ(weight_scale(1), 4);
  EXPECT_EQ(weight_scale(4), 2);
  EXPECT_EQ(weight_scale(5), 1);
  EXPECT_EQ(weight_scale(2048), 1.0 / 16);
  EXPECT_EQ(weight_scale(8192), 1.0 / 32);
}

// Of stream 1 with seed 1 as above; stream 11 begins with 239, 192, 79, 180, 26, 185, streams 32
// and 33 with 87, 237, 242 and 158, 126, 88.
TEST(Inputs, OfTernaryProductsAreOddMultiplesAndTheRemaindersOfThree) {
  Request request;
  request.task = Task::ternary;
  request.seed = 1, request.m = 2, request.n = 2, request.k = 3;
  const auto inputs = inputs_of(request);
  ASSERT_EQ(inputs.size(), 2u);
  std::vector<float> x;
  for (const float each : {127, -89, -31, 127, -93, -77}) x.push_back(each / 128);
  EXPECT_EQ(inputs[0].values, x);
  EXPECT_EQ(inputs[1].values, (std::vector<float>{1, -1, 0, -1, 1, 1}));
}

TEST(Inputs, VectorsOfTheDigestHaveAStreamEach) {
  const auto vector = [](unsigned index) {
    std::vector<double> values = digest_vector(1, index, 3);
    for (double& value : values) value *= 256;
    return values;
  };
  EXPECT_EQ(vector(0), (std::vector<double>{-81, 219, 229}));
  EXPECT_EQ(vector(1), (std::vector<double>{61, -3, -79}));
}

Request small(Task task) {
  Request request;
  request.task = task;
  request.batch = 6, request.hidden = 64, request.m = 9;
  return *complete(request);
}

std::vector<double> matrix_product(const std::vector<double>& a, const std::vector<double>& b,
                                   std::uint64_t m, std::uint64_t n, std::uint64_t k,
                                   bool b_transposed) {
  std::vector<double> c(m * n);
  for (std::uint64_t i = 0; i < m; ++i)
    for (std::uint64_t j = 0; j < n; ++j)
      for (std::uint64_t l = 0; l < k; ++l)
        c[i * n + j] += a[i * k + l] * (b_transposed ? b[j * k + l] : b[l * n + j]);
  return c;
}
std::vector<double> doubles(const Input& input) {
  return {input.values.begin(), input.values.end()};
}
Output output(const std::vector<double>& values, std::uint64_t rows, std::uint64_t columns) {
  return {rows, columns, {values.begin(), values.end()}};
}

// The workload step by step, as its definition reads.
std::vector<Output> plain(const Request& r, bool tanh_gelu = false) {
  const auto in = inputs_of(r);
  switch (r.task) {
    case Task::mlp: {
      const std::uint64_t b = r.batch, h = r.hidden;
      auto act = matrix_product(doubles(in[0]), doubles(in[1]), b, 4 * h, h, true);
      for (std::uint64_t i = 0; i < act.size(); ++i) {
        const double x = act[i] + in[2].values[i % (4 * h)];
        act[i] = tanh_gelu
                     ? 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
                     : 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
      }
      auto y = matrix_product(act, doubles(in[3]), b, h, 4 * h, true);
      for (std::uint64_t i = 0; i < y.size(); ++i) y[i] += in[4].values[i % h];
      const auto z = matrix_product(y, y, b, b, h, true);
      double sum = 0;
      for (const double value : z) sum += value;
      return {output(y, b, h), output(z, b, b), output({sum / static_cast<double>(b * b)}, 1, 1)};
    }
    case Task::copy:
      return {{r.m, r.n, in[0].values}};
    case Task::attention: {
      const std::uint64_t w = kHeadElements, heads = r.batch * r.heads();
      std::vector<double> out(heads * r.m * w);
      for (std::uint64_t head = 0; head < heads; ++head)
        for (std::uint64_t i = 0; i < r.m; ++i) {
          std::vector<double> weight(r.m);
          double total = 0;
          for (std::uint64_t j = 0; j < r.m; ++j) {
            double sum = 0;
            for (std::uint64_t c = 0; c < w; ++c)
              sum += double{in[0].values[(head * r.m + i) * w + c]} *
                     in[1].values[(head * r.m + j) * w + c];
            total += weight[j] = std::exp(sum / 8);
          }
          for (std::uint64_t j = 0; j < r.m; ++j)
            for (std::uint64_t c = 0; c < w; ++c)
              out[(head * r.m + i) * w + c] +=
                  weight[j] / total * in[2].values[(head * r.m + j) * w + c];
        }
      return {output(out, heads * r.m, w)};
    }
    case Task::gemm:
    case Task::ternary:
      break;
  }
  return {
      output(matrix_product(doubles(in[0]), doubles(in[1]), r.m, r.n, r.k, r.task == Task::ternary),
             r.m, r.n)};
}

constexpr Task kAll[] = {Task::mlp, Task::gemm, Task::attention, Task::copy, Task::ternary};

TEST(Reference, AgreesWithThePlainWorkload) {
  for (const Task task : kAll) {
    const Request request = small(task);
    for (const unsigned threads : {1u, 3u}) {
      const auto expected = reference_digests(request, threads);
      const auto found = digest_of(request, plain(request));
      EXPECT_EQ(other_work(request, expected, found), std::nullopt)
          << to_string(task) << ": " << other_work(request, expected, found).value_or("");
      // The same numbers but for the outputs' rounding to float.
      for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(found[i], expected[i].value, 1e-6 * expected[i].scale) << expected[i].name;
    }
  }
}

TEST(Reference, FindsOneWrongElementInFp32) {
  for (const Task task : kAll) {
    const Request request = small(task);
    const auto expected = reference_digests(request, 1);
    auto outputs = plain(request);
    outputs[0].values[7] += 1;
    EXPECT_NE(other_work(request, expected, digest_of(request, outputs)), std::nullopt)
        << to_string(task);
  }
}

TEST(Reference, NamesTheTanhApproximation) {
  Request request = small(Task::mlp);
  request.hidden = 256, request.batch = 16;
  const auto reason =
      other_work(request, reference_digests(request, 1), digest_of(request, plain(request, true)));
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->find("tanh"), std::string::npos) << *reason;
}

// The playbook's sizes tell the two apart even through the roundings of bf16.
TEST(Reference, TellsTanhFromErfInBf16) {
  Request request;
  request.dtype = Dtype::bf16;  // batch 64, hidden 2048
  const auto expected = reference_digests(request, 2);
  std::vector<double> erf, fused, tanh, fused_tanh;
  for (const ExpectedDigest& each : expected) {
    erf.push_back(each.value);
    fused.push_back(each.fused.value_or(each.value));
    tanh.push_back(each.tanh ? each.tanh->kept : each.value);
    fused_tanh.push_back(each.tanh ? each.tanh->fused : each.value);
  }
  EXPECT_EQ(other_work(request, expected, erf), std::nullopt);
  EXPECT_EQ(other_work(request, expected, fused), std::nullopt);
  EXPECT_NE(other_work(request, expected, tanh), std::nullopt);
  EXPECT_NE(other_work(request, expected, fused_tanh), std::nullopt);
}

// What PyTorch 2.11 (eager, compiled), cuBLASLt 13, JAX, our own kernel and Triton's gave on an
// H200. The last two apply GELU within the product.
TEST(Reference, AcceptsWhatStacksOfAGpuGaveInBf16) {
  Request request;
  request.dtype = Dtype::bf16, request.batch = 64, request.hidden = 2048, request.seed = 1;
  const auto expected = reference_digests(request, 2);
  const std::vector<double> stacks[] = {
      {-120.84259761099383, 177.93621611027083, 54.53105036877605, 93009.38908216958,
       1381.102783203125, -2362.9017944335938, 490.0},
      {-120.85196805508713, 177.9336357516986, 54.53412429252603, 93009.35142840292,
       1382.0591430664062, -2363.0108032226562, 490.0},
      {-120.79211295399546, 177.93355372098267, 54.510194210850386, 93009.78340434976,
       1382.0223388671875, -2358.130615234375, 490.3447265625},
      {-121.15563237364404, 178.1899344820995, 54.946728247450665, 93013.88633478805,
       1376.324462890625, -2376.5242309570312, 490.393798828125},
      {-121.50494334239693, 177.60064830954934, 55.30104551642262, 92993.36280183776,
       1348.8544921875, -2359.5108032226562, 490.2109375},
      {-121.54220066955622, 177.58268574685007, 55.31551144036621, 92992.6385048257,
       1350.7003784179688, -2357.4085083007812, 490.0}};
  for (const auto& digest : stacks) EXPECT_EQ(other_work(request, expected, digest), std::nullopt);
}

// On an H200, torch's tf32 was off by 1.7e-5 of "activation", Triton's fp16 by 1.3e-5.
TEST(Reference, AcceptsSumsThatTensorCoresCutOff) {
  for (const Dtype dtype : {Dtype::fp16, Dtype::tf32, Dtype::fp32}) {
    Request request;
    request.dtype = dtype;  // batch 64, hidden 2048
    const auto expected = reference_digests(request, 2);
    const auto cut_off = [&](double by) {
      std::vector<double> found;
      for (const ExpectedDigest& each : expected) found.push_back(each.value * (1 - by));
      return other_work(request, expected, found);
    };
    EXPECT_EQ(cut_off(1.7e-5).has_value(), dtype == Dtype::fp32);
    EXPECT_TRUE(cut_off(1e-4));
  }
}

// As if it were kept in a type of so many bits, after the product and at the end.
float rounded(float value, int bits) {
  int exponent = 0;
  const float fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
}
TEST(Reference, AcceptsRoundingOfTheDtypeAndNoCoarser) {
  Request request = small(Task::gemm);
  request.m = request.n = request.k = 96;
  const auto digest = [&](int bits) {
    auto outputs = plain(request);
    for (float& value : outputs[0].values) value = rounded(value, bits);
    return digest_of(request, outputs);
  };
  const auto expected = reference_digests(request, 1);
  request.dtype = Dtype::bf16;
  EXPECT_EQ(other_work(request, expected, digest(8)), std::nullopt);
  request.dtype = Dtype::fp16;
  EXPECT_EQ(other_work(request, expected, digest(11)), std::nullopt);
  EXPECT_NE(other_work(request, expected, digest(5)), std::nullopt);
  request.dtype = Dtype::fp32;
  EXPECT_EQ(other_work(request, expected, digest(24)), std::nullopt);
  EXPECT_NE(other_work(request, expected, digest(11)), std::nullopt);
}

// Roundings move a digest by as much as they were seen to, and by a fifth more.
TEST(Reference, AcceptsAFifthMoreThanTheRoundingsOfTheWorkload) {
  const std::vector<ExpectedDigest> expected = {{.name = "y0", .value = 100, .fused = 101}};
  for (const double accepted : {98.81, 101.19})
    EXPECT_EQ(other_work({}, expected, std::vector{accepted}), std::nullopt) << accepted;
  for (const double refused : {98.79, 101.21})
    EXPECT_NE(other_work({}, expected, std::vector{refused}), std::nullopt) << refused;
}

// docs/bench-run.md, "Digests": every ceil(rows / 2048)-th row counts.
TEST(Reference, OfAnAttentionAFewThousandRowsCount) {
  struct {
    std::uint64_t rows, every;
  } const kCases[] = {{2047, 1}, {2048, 1}, {2049, 2}, {4096, 2}, {4097, 3}};
  for (const auto& [rows, every] : kCases)
    for (const Task task : {Task::attention, Task::gemm})
      for (const std::uint64_t row : {0u, 1u, 2u, 3u, 6u}) {
        Output output{rows, 64, std::vector<float>(rows * 64)};
        output.values[row * 64] = 1;
        const auto digest = digest_of(small(task), std::span(&output, 1));
        const bool counts = std::ranges::any_of(digest, [](double value) { return value != 0; });
        EXPECT_EQ(counts, task != Task::attention || row % every == 0) << rows << " " << row;
      }
}

TEST(Reference, WantsAllNumbers) {
  const Request request = small(Task::gemm);
  const auto expected = reference_digests(request, 1);
  EXPECT_NE(other_work(request, expected, {}), std::nullopt);
  const std::vector<double> nan(expected.size(), std::nan(""));
  EXPECT_NE(other_work(request, expected, nan), std::nullopt);
}

}  // namespace
}  // namespace gpuready::bench
