// CudaEngine on a caller's context and streams, with the kernels that ship.
#include "gpuready/ternary_cuda.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "../unit/device/in_child.h"
#include "caller.h"
#include "gpuready/ternary_cuda_c.h"

namespace gpuready::ternary {
namespace {

PackedWeights random_weights(std::mt19937& random, Shape shape) {
  Codes codes{shape,
              std::vector<std::int8_t>(static_cast<std::size_t>(shape.rows * shape.cols)),
              0,
              {0.5f + static_cast<float>(random() % 100) * 0.01f}};
  for (auto& code : codes.values) code = static_cast<std::int8_t>(random() % 3) - 1;
  return must(PackedWeights::pack(codes));
}
std::vector<float> random_values(std::mt19937& random, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (auto& x : values) x = static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-28f;
  return values;
}
std::vector<float> product_on_cpu(const PackedWeights& weights, const std::vector<float>& values) {
  const std::int64_t rows = static_cast<std::int64_t>(values.size()) / weights.shape().cols;
  std::vector<float> out(static_cast<std::size_t>(rows * weights.shape().rows));
  const auto activations =
      must(Activations::quantise(std::span<const float>(values), rows, weights.shape().cols));
  must(must(CpuEngine::create({{}, false, 1})).multiply(weights, activations, out));
  return out;
}
// Rows of the stack's products whose bits are not those of the part that they are of.
int wrong_in_stack(std::span<const PackedWeights> parts, const std::vector<float>& values,
                   const std::vector<float>& together) {
  const std::size_t m = values.size() / static_cast<std::size_t>(parts[0].shape().cols);
  std::size_t at = 0;
  int wrong = 0;
  for (const PackedWeights& part : parts) {
    const auto own = product_on_cpu(part, values);
    const auto rows = static_cast<std::size_t>(part.shape().rows);
    for (std::size_t i = 0; i < m; ++i)
      wrong += std::memcmp(together.data() + i * (together.size() / m) + at, own.data() + i * rows,
                           rows * 4) != 0;
    at += rows;
  }
  return wrong;
}
bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * 4) == 0;
}
template <class R>
std::string kind_of(const R& result) {
  return result ? "ok" : std::string(to_string(result.error().kind));
}

std::string as_caller(const std::string& fake, const std::function<std::string()>& work) {
  return in_child("sms=2,memory=256MiB,guard=4KiB," + fake, work, "fake_cuda_ptx");
}

class PtxTernaryCuda : public testing::TestWithParam<const char*> {};

TEST_P(PtxTernaryCuda, MakesTheCpusBitsFromDeviceMemoryAlsoFromAGraph) {
  const auto outcome = as_caller(std::string("cc=") + GetParam(), [] {
    const Caller caller;
    const CudaEngine engine = must(CudaEngine::create());
    std::mt19937 random{7};
    const Shape shape{70, 300};
    const PackedWeights packed = random_weights(random, shape);
    const CudaWeights weights = must(engine.load(packed));
    int wrong = 0, products = 0;
    for (const std::int64_t rows : {1, 3, 16, 40, 130}) {
      must(engine.prepare(shape, rows));
      const CudaActivations room = must(engine.make_activations(rows, shape.cols));
      const auto first = random_values(random, rows * shape.cols);
      const CudaValues x{caller.give(first), FloatType::f32, first.size() * 4};
      const auto count = static_cast<std::size_t>(rows * shape.rows);
      const CudaTarget y{caller.allocate(count * 4), CudaOutput::f32, count * 4},
          z{caller.allocate(count * 4), CudaOutput::f32, count * 4};
      const std::size_t needed = must(engine.workspace_bytes(shape, rows));
      const CudaMemory workspace{needed ? caller.allocate(needed) : nullptr, needed};
      const auto products_of = [&] {
        must(engine.quantise(caller.stream, x, room, rows));
        must(engine.multiply(caller.stream, weights, room, rows, y, workspace));
        must(engine.multiply(caller.stream, weights, x, room, rows, z, workspace));
      };
      const auto look = [&](const std::vector<float>& values) {
        const auto expected = product_on_cpu(packed, values);
        for (const CudaTarget& out : {y, z}) {
          ++products;
          wrong += !same_bits(caller.read<float>(out.address, count), expected);
        }
      };
      products_of();
      look(first);
      // Nothing of it waits, allocates or is refused while it is captured.
      caller.begin_capture();
      products_of();
      const CudaHandle graph = caller.end_capture();
      for (int again = 0; again < 2; ++again) {
        const auto other = random_values(random, rows * shape.cols);
        caller.write(const_cast<void*>(x.address), other.data(), x.bytes);
        must(caller.driver.graph_launch(graph, caller.stream));
        look(other);
      }
    }
    return fmt::format("{} products, {} wrong", products, wrong);
  });
  EXPECT_EQ(outcome, "30 products, 0 wrong");
}
INSTANTIATE_TEST_SUITE_P(Every, PtxTernaryCuda,
                         testing::Values("5.0", "6.1", "8.0", "9.0", "10.0"));

TEST(PtxTernaryCudaCaller, KeepsItsCurrentContextOnEveryThread) {
  const auto outcome = as_caller("cc=9.0,devices=2", [] {
    const Caller other(1), caller(0);
    const CudaEngine engine = must(CudaEngine::create({caller.context}));
    std::mt19937 random{3};
    const PackedWeights packed = random_weights(random, {33, 130});
    const auto values = random_values(random, 2 * 130);
    const CudaValues x{caller.give(values), FloatType::f32, values.size() * 4};
    const CudaTarget y{caller.allocate(2 * 33 * 4), CudaOutput::f32, 2 * 33 * 4};
    std::string changed;
    const auto all = [&](CudaHandle context) {
      caller.make_current(context);
      const auto look = [&](const char* call) {
        if (caller.current() != context) changed += std::string(call) + ' ';
      };
      {
        const auto made = must(CudaEngine::create({caller.context}));
        look("create");
        const auto weights = must(made.load(packed));
        look("load");
        const auto room = must(made.make_activations(2, 130));
        look("make_activations");
        must(made.prepare({33, 130}, 2));
        look("prepare");
        must(made.multiply(caller.stream, weights, x, room, 2, y));
        look("multiply");
        must(made.check(caller.stream, room, 2));
        look("check");
      }
      look("the end");
    };
    all(nullptr);
    all(caller.context);
    all(other.context);
    std::thread(all, nullptr).join();
    caller.make_current(caller.context);
    const bool same =
        same_bits(caller.read<float>(y.address, 2 * 33), product_on_cpu(packed, values));
    caller.make_current(nullptr);
    return fmt::format("changed by: {}; bits {}; without a context: {}", changed, same,
                       kind_of(CudaEngine::create()));
  });
  EXPECT_EQ(outcome, "changed by: ; bits true; without a context: bad_input");
}

TEST(PtxTernaryCudaCaller, StacksWeightsAndGroupsExperts) {
  const auto outcome = as_caller("cc=9.0", [] {
    const Caller caller;
    const CudaEngine engine = must(CudaEngine::create());
    std::mt19937 random{5};
    const PackedWeights parts[] = {random_weights(random, {32, 130}),
                                   random_weights(random, {16, 130}),
                                   random_weights(random, {7, 130})};
    const CudaWeights stacked = must(engine.load(parts));
    const auto values = random_values(random, 20 * 130);
    const CudaValues x{caller.give(values), FloatType::f32, values.size() * 4};
    const CudaActivations room = must(engine.make_activations(20, 130));
    void* out = caller.allocate(20 * 55 * 4);
    must(engine.multiply(caller.stream, stacked, x, room, 20, {out, CudaOutput::f32, 20 * 55 * 4}));
    const auto together = caller.read<float>(out, 20 * 55);
    const int wrong = wrong_in_stack(parts, values, together);
    // 1, 0, 17 and 2 rows of four experts.
    std::vector<PackedWeights> packed;
    std::vector<CudaWeights> experts;
    for (int i = 0; i < 4; ++i) {
      packed.push_back(random_weights(random, {40, 130}));
      experts.push_back(must(engine.load(packed.back())));
    }
    const CudaGroup groups[] = {
        {&experts[0], 1}, {&experts[1], 0}, {&experts[2], 17}, {&experts[3], 2}};
    const CudaTarget y{out, CudaOutput::f32, 20 * 40 * 4};
    must(engine.multiply_grouped(caller.stream, groups, x, room, y));
    const auto grouped = caller.read<float>(out, 20 * 40);
    std::vector<float> expected;
    std::size_t row = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const auto end = row + static_cast<std::size_t>(groups[i].rows);
      if (row == end) continue;
      const auto own =
          product_on_cpu(packed[i], {values.begin() + static_cast<std::ptrdiff_t>(row * 130),
                                     values.begin() + static_cast<std::ptrdiff_t>(end * 130)});
      expected.insert(expected.end(), own.begin(), own.end());
      row = end;
    }
    const CudaGroup other[] = {{&experts[0], 1}, {&stacked, 19}}, many[] = {{&experts[0], 21}},
                    few[] = {{&experts[0], 19}}, none[] = {{nullptr, 20}};
    return fmt::format("{} wrong; grouped {}; {} {} {} {}", wrong, same_bits(grouped, expected),
                       kind_of(engine.multiply_grouped(caller.stream, other, x, room, y)),
                       kind_of(engine.multiply_grouped(caller.stream, many, x, room, y)),
                       kind_of(engine.multiply_grouped(caller.stream, few, x, room, y)),
                       kind_of(engine.multiply_grouped(caller.stream, none, x, room, y)));
  });
  EXPECT_EQ(outcome, "0 wrong; grouped true; wrong_size wrong_size wrong_size bad_input");
}

// Rows of one scale among rows with a scale a group.
TEST(PtxTernaryCudaCaller, StacksScalesOfRowsWithScalesOfGroups) {
  const auto outcome = as_caller("cc=9.0", [] {
    const Caller caller;
    const CudaEngine engine = must(CudaEngine::create());
    std::mt19937 random{6};
    const auto by_group = [&](Shape shape, std::int64_t group) {
      const std::int64_t groups = (shape.cols + group - 1) / group;
      const auto scales = random_values(random, shape.rows * groups);
      return must(PackedWeights::pack(random_weights(random, shape).unpack().values, shape,
                                      {std::span<const float>(scales), group}));
    };
    const PackedWeights parts[] = {random_weights(random, {32, 300}), by_group({16, 300}, 64),
                                   random_weights(random, {7, 300})};
    const CudaWeights stacked = must(engine.load(parts));
    int wrong = 0;
    for (const std::int64_t m : {1, 3, 20}) {
      const auto values = random_values(random, m * 300);
      const CudaValues x{caller.give(values), FloatType::f32, values.size() * 4};
      const CudaActivations room = must(engine.make_activations(m, 300));
      const auto count = static_cast<std::size_t>(m * 55);
      void* out = caller.allocate(count * 4);
      must(engine.multiply(caller.stream, stacked, x, room, m, {out, CudaOutput::f32, count * 4}));
      wrong += wrong_in_stack(parts, values, caller.read<float>(out, count));
    }
    const PackedWeights other[] = {parts[1], by_group({16, 300}, 32)};
    return fmt::format("{} wrong; {}", wrong, kind_of(engine.load(other)));
  });
  EXPECT_EQ(outcome, "0 wrong; wrong_size");
}

TEST(PtxTernaryCudaCaller, IsToldWhatDoesNotFit) {
  const auto outcome = as_caller("cc=9.0", [] {
    const Caller caller;
    const CudaEngine engine = must(CudaEngine::create()), second = must(CudaEngine::create());
    std::mt19937 random{5};
    const PackedWeights packed = random_weights(random, {33, 130});
    const CudaWeights weights = must(engine.load(packed)), foreign = must(second.load(packed));
    const CudaActivations room = must(engine.make_activations(2, 130)),
                          narrow = must(engine.make_activations(2, 128));
    auto values = random_values(random, 2 * 130);
    values[131] = std::numeric_limits<float>::infinity();
    const CudaValues x{caller.give(values), FloatType::f32, values.size() * 4};
    const CudaTarget y{caller.allocate(2 * 33 * 4), CudaOutput::f32, 2 * 33 * 4};
    const auto multiply = [&](const CudaWeights& w, CudaValues from, const CudaActivations& in,
                              std::int64_t rows, CudaTarget to) {
      return kind_of(engine.multiply(caller.stream, w, from, in, rows, to));
    };
    std::string said;
    const auto add = [&](const std::string& kind) { said += kind + ' '; };
    add(multiply(foreign, x, room, 2, y));
    add(multiply(weights, x, narrow, 2, y));
    add(multiply(weights, x, room, 3, y));
    add(multiply(weights, x, room, 0, y));
    add(multiply(weights, {x.address, x.type, x.bytes - 4}, room, 2, y));
    add(multiply(weights, {x.address, FloatType(9), x.bytes}, room, 2, y));
    add(multiply(weights, x, room, 2, {y.address, y.type, y.bytes + 4}));
    add(multiply(weights, x, room, 2, {y.address, CudaOutput(4), y.bytes}));
    add(kind_of(engine.prepare({33, -1}, 2)));
    add(kind_of(engine.make_activations(std::int64_t{1} << 40, std::int64_t{1} << 40)));
    add(kind_of(engine.load(std::span<const PackedWeights>())));
    must(engine.multiply(caller.stream, weights, x, room, 2, y));
    add(kind_of(engine.check(caller.stream, room, 2)));
    add(std::isnan(caller.read<float>(y.address, 66)[33]) ? "NaN" : "a number");
    add(in_child_with({}, [&] { return multiply(weights, x, room, 2, y); }));
    return said;
  });
  EXPECT_EQ(outcome,
            "bad_input wrong_size wrong_size wrong_size wrong_size bad_input wrong_size bad_input "
            "wrong_size too_large wrong_size not_finite NaN unsupported ");
}

// The fake driver's own calls are not for several threads; those of one engine wait for each other.
TEST(PtxTernaryCudaCaller, MayMultiplyOnManyThreads) {
  const auto outcome = as_caller("cc=8.0", [] {
    struct Work {
      Caller caller;
      CudaActivations room;
      std::vector<std::vector<float>> values;
      std::vector<void*> in, out;
    };
    const Caller first;
    const CudaEngine engine = must(CudaEngine::create());
    std::mt19937 random{9};
    const PackedWeights packed = random_weights(random, {48, 256});
    const CudaWeights weights = must(engine.load(packed));
    std::vector<Work> all;
    for (int i = 0; i < 4; ++i) {
      Work work{Caller(), must(engine.make_activations(3, 256)), {}, {}, {}};
      for (int product = 0; product < 8; ++product) {
        work.values.push_back(random_values(random, 3 * 256));
        work.in.push_back(first.give(work.values.back()));
        work.out.push_back(first.allocate(3 * 48 * 4));
      }
      all.push_back(std::move(work));
    }
    std::vector<std::thread> threads;
    for (const Work& work : all)
      threads.emplace_back([&] {
        for (std::size_t i = 0; i < work.in.size(); ++i)
          must(engine.multiply(work.caller.stream, weights,
                               {work.in[i], FloatType::f32, 3 * 256 * 4}, work.room, 3,
                               {work.out[i], CudaOutput::f32, 3 * 48 * 4}));
      });
    for (auto& thread : threads) thread.join();
    int wrong = 0;
    for (const Work& work : all)
      for (std::size_t i = 0; i < work.out.size(); ++i)
        wrong += !same_bits(first.read<float>(work.out[i], 3 * 48),
                            product_on_cpu(packed, work.values[i]));
    return fmt::format("{} wrong", wrong);
  });
  EXPECT_EQ(outcome, "0 wrong");
}

// A thread that waits for the device, here for ever, holds up no launch.
TEST(PtxTernaryCudaCaller, LaunchesWhileAnotherThreadWaits) {
  const auto outcome = as_caller("cc=8.0", [] {
    // The thread never ends, so nothing that it uses does.
    const auto& caller = *new Caller;
    const auto& engine = *new CudaEngine(must(CudaEngine::create()));
    std::mt19937 random{13};
    const PackedWeights packed = random_weights(random, {48, 256});
    const auto& weights = *new CudaWeights(must(engine.load(packed)));
    const auto& room = *new CudaActivations(must(engine.make_activations(1, 256)));
    const auto values = random_values(random, 256);
    const CudaValues x{caller.give(values), FloatType::f32, 256 * 4};
    const CudaTarget y{caller.allocate(48 * 4), CudaOutput::f32, 48 * 4};
    must(engine.multiply(caller.stream, weights, x, room, 1, y));
    const std::string fake = std::string(std::getenv("FAKE_CUDA")) + ",hang=cuStreamSynchronize";
    setenv("FAKE_CUDA", fake.c_str(), 1);
    std::thread([&] { (void)engine.check(caller.stream, room, 1); }).detach();
    // Long enough for the other to wait; were it too short, nothing would be wrong.
    for (int i = 0; i < 30; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      must(engine.multiply(caller.stream, weights, x, room, 1, y));
    }
    return std::string("done");
  });
  EXPECT_EQ(outcome, "done");
}

TEST(PtxTernaryCudaCaller, MayBeWrittenInC) {
  const auto outcome = as_caller("cc=9.0", [] {
    const Caller caller;
    std::string said;
    const auto add = [&](gpuready_status status) {
      if (status != GPUREADY_OK)
        said += std::to_string(status) + ": " + gpuready_last_error() + "; ";
    };
    std::mt19937 random{11};
    const auto w = random_values(random, 64 * 128), values = random_values(random, 20 * 128);
    gpuready_ternary_packed* packed = nullptr;
    add(gpuready_ternary_pack_values(w.data(), GPUREADY_TERNARY_F32, w.size(), 64, 128, "i2_s-x86",
                                     GPUREADY_TERNARY_RULE_ABSMEAN, GPUREADY_TERNARY_TWO_BIT, 1,
                                     &packed));
    gpuready_ternary_cuda* engine = nullptr;
    add(gpuready_ternary_cuda_create(caller.context, &engine));
    gpuready_ternary_cuda_weights* weights = nullptr;
    const gpuready_ternary_packed* twice[] = {packed, packed};
    add(gpuready_ternary_cuda_load(engine, twice, 2, &weights));
    std::int64_t n = 0, k = 0;
    add(gpuready_ternary_cuda_weights_info(weights, &n, &k, nullptr));
    gpuready_ternary_cuda_activations* room = nullptr;
    add(gpuready_ternary_cuda_activations_create(engine, 20, k, &room));
    std::size_t needed = 0;
    add(gpuready_ternary_cuda_workspace(engine, n, k, 20, &needed));
    void* workspace = needed ? caller.allocate(needed) : nullptr;
    char kernel[32];
    add(gpuready_ternary_cuda_kernel(engine, n, k, 20, kernel, sizeof kernel));
    add(gpuready_ternary_cuda_prepare(engine, n, k, 20));
    void* x = caller.give(values);
    void* y = caller.allocate(20 * 128 * 4);
    caller.begin_capture();
    add(gpuready_ternary_cuda_quantise(engine, caller.stream, x, GPUREADY_TERNARY_F32, 20 * 128 * 4,
                                       room, 20));
    add(gpuready_ternary_cuda_multiply(engine, caller.stream, weights, room, 20, y,
                                       GPUREADY_TERNARY_OUT_F32, 20 * 128 * 4, workspace, needed));
    must(caller.driver.graph_launch(caller.end_capture(), caller.stream));
    add(gpuready_ternary_cuda_check(engine, caller.stream, room, 20));
    const auto twins = caller.read<float>(y, 20 * 128);
    const gpuready_ternary_cuda_weights* groups[] = {weights};
    const std::int64_t rows[] = {20};
    add(gpuready_ternary_cuda_multiply_grouped(
        engine, caller.stream, groups, rows, 1, x, GPUREADY_TERNARY_F32, 20 * 128 * 4, room, y,
        GPUREADY_TERNARY_OUT_F32, 20 * 128 * 4, workspace, needed));
    const bool same = same_bits(caller.read<float>(y, 20 * 128), twins);
    const auto cpu = product_on_cpu(
        must(PackedWeights::pack(must(quantise(std::span<const float>(w), {64, 128},
                                               FormatId::i2s_x86, {Rule::absmean, {}})))),
        values);
    int wrong = 0;
    for (std::size_t m = 0; m < 20; ++m)
      for (std::size_t half = 0; half < 2; ++half)
        wrong += std::memcmp(twins.data() + m * 128 + half * 64, cpu.data() + m * 64, 64 * 4) != 0;
    add(gpuready_ternary_cuda_multiply_values(
        engine, caller.stream, weights, x, static_cast<gpuready_ternary_type>(7), 20 * 128 * 4,
        room, 20, y, GPUREADY_TERNARY_OUT_F32, 20 * 128 * 4, nullptr, 0));
    add(gpuready_ternary_cuda_multiply(engine, caller.stream, nullptr, room, 20, y,
                                       GPUREADY_TERNARY_OUT_F32, 20 * 128 * 4, nullptr, 0));
    gpuready_ternary_cuda_activations_destroy(room);
    gpuready_ternary_cuda_weights_destroy(weights);
    gpuready_ternary_cuda_destroy(engine);
    gpuready_ternary_packed_destroy(packed);
    return fmt::format("{}{} grouped {}; {} wrong", said, kernel, same, wrong);
  });
  EXPECT_EQ(outcome,
            "2: the type of the values is not f32, f16 or bf16; 2: an argument is a null pointer; "
            "int8-wgmma grouped true; "
            "0 wrong");
}

}  // namespace
}  // namespace gpuready::ternary
