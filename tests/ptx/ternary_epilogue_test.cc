// Bias, residual and f16 on a caller's stream: every kernel that ships, against CpuEngine.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "../unit/device/in_child.h"
#include "caller.h"
#include "gpuready/ternary_cuda.h"
#include "gpuready/ternary_cuda_c.h"
#include "ternary/floats.h"

namespace gpuready::ternary {
namespace {

constexpr FloatType kTypes[] = {FloatType::f32, FloatType::f16, FloatType::bf16};
constexpr CudaOutput kOutputs[] = {CudaOutput::f32, CudaOutput::f16, CudaOutput::bf16};

std::vector<std::byte> random_bytes(std::mt19937& random, std::int64_t count, FloatType type) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * bytes_of(type));
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-26f;
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t word = type == FloatType::f32   ? bits
                               : type == FloatType::f16 ? f32_to_f16(value)
                                                        : bits >> 16;
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * bytes_of(type), &word, bytes_of(type));
  }
  return bytes;
}
// NaN and infinities of both signs, which meet.
void spoil(std::vector<std::byte>& bytes, FloatType type) {
  constexpr std::uint32_t kBits[][3] = {
      {0x7FC12345, 0x7E11, 0x7FC1}, {0x7F800000, 0x7C00, 0x7F80}, {0xFF800000, 0xFC00, 0xFF80}};
  for (std::size_t i = 0; i < 3; ++i)
    std::memcpy(bytes.data() + (i + 1) * bytes_of(type),
                &kBits[(i + bytes.size() / 2) % 3][static_cast<int>(type)], bytes_of(type));
}

// One product of every kind on the device and on the CPU; how many differ.
struct Trial {
  const Caller& caller;
  const CudaEngine& engine;
  std::mt19937& random;
  int products = 0, wrong = 0;
  std::string said;

  void run(const PackedWeights& packed, std::int64_t rows) {
    const Shape shape = packed.shape();
    const CpuEngine cpu = must(CpuEngine::create({{}, false, 1}));
    const CudaWeights weights = must(engine.load(packed));
    const CudaActivations room = must(engine.make_activations(rows, shape.cols));
    const std::size_t needed = must(engine.workspace_bytes(shape, rows));
    const CudaMemory workspace{needed > 0 ? caller.allocate(needed) : nullptr, needed};
    const auto values = random_bytes(random, rows * shape.cols, FloatType::f32);
    const CudaValues x{caller.give(values), FloatType::f32, values.size()};
    const auto activations =
        must(Activations::quantise({FloatType::f32, values}, rows, shape.cols));
    for (std::size_t t = 0; t < 3; ++t)
      for (int with = 0; with < 4; ++with) {
        const FloatType given = kTypes[(t + static_cast<std::size_t>(rows)) % 3];
        auto bias = random_bytes(random, shape.rows, given);
        auto residual = random_bytes(random, rows * shape.rows, kTypes[t]);
        spoil(bias, given);
        spoil(residual, kTypes[t]);
        std::vector<std::byte> want = residual;
        Addends addends;
        // The residual is the output itself.
        CudaTarget y{caller.give(residual), kOutputs[t], residual.size()};
        if ((with & 1) != 0) {
          addends.bias = {given, bias};
          y.bias = {caller.give(bias), given, bias.size()};
        }
        if ((with & 2) != 0) {
          addends.residual = {kTypes[t], residual};
          y.residual = {y.address, kTypes[t], residual.size()};
        }
        must(cpu.multiply(packed, activations, kTypes[t], want, addends));
        must(engine.multiply(caller.stream, weights, x, room, rows, y, workspace));
        ++products;
        if (caller.read<std::byte>(y.address, want.size()) == want) continue;
        if (wrong++ == 0)
          said = fmt::format(" (first: {} x {} x {}, type {}, with {})", rows, shape.rows,
                             shape.cols, t, with);
      }
  }
};

class PtxTernaryEpilogue : public testing::TestWithParam<const char*> {};
TEST_P(PtxTernaryEpilogue, HasTheBitsOfTheCpu) {
  const auto outcome = in_child(
      std::string("sms=2,memory=256MiB,guard=4KiB,cc=") + GetParam(),
      [] {
        const Caller caller;
        const CudaEngine engine = must(CudaEngine::create());
        std::mt19937 random{21};
        Trial trial{caller, engine, random, 0, 0, {}};
        struct Case {
          Shape shape;
          std::int64_t rows;
        };
        for (const auto& [shape, rows] :
             {Case{{33, 130}, 1}, Case{{2100, 130}, 1}, Case{{40, 300}, 3}, Case{{33, 130}, 9},
              Case{{161, 140}, 20}, Case{{130, 257}, 130}}) {
          std::vector<std::int8_t> codes(static_cast<std::size_t>(shape.rows * shape.cols));
          for (auto& code : codes) code = static_cast<std::int8_t>(random() % 3) - 1;
          for (const std::int64_t group : {0, 64}) {
            if (group != 0 && shape.rows > 1000) continue;
            std::vector<float> scales(static_cast<std::size_t>(
                shape.rows * (group == 0 ? 1 : (shape.cols + group - 1) / group)));
            for (float& scale : scales) scale = 0.1f + static_cast<float>(random() % 100) * 0.01f;
            trial.run(
                must(PackedWeights::pack(codes, shape, {std::span<const float>(scales), group})),
                rows);
          }
        }
        return fmt::format("{} products, {} wrong{}", trial.products, trial.wrong, trial.said);
      },
      "fake_cuda_ptx");
  EXPECT_EQ(outcome, "132 products, 0 wrong");
}
INSTANTIATE_TEST_SUITE_P(Every, PtxTernaryEpilogue,
                         testing::Values("5.0", "6.1", "8.0", "9.0", "10.0"));

TEST(PtxTernaryEpilogueCaller, GivesEachExpertItsBiasAndIsToldWhatDoesNotFit) {
  const auto outcome = in_child(
      "sms=2,memory=256MiB,guard=4KiB,cc=8.0",
      [] {
        const Caller caller;
        const CudaEngine engine = must(CudaEngine::create());
        const CpuEngine cpu = must(CpuEngine::create({{}, false, 1}));
        std::mt19937 random{23};
        const Shape shape{33, 130};
        const std::int64_t counts[] = {1, 0, 18}, all = 19;
        const auto values = random_bytes(random, all * 130, FloatType::f32),
                   residual = random_bytes(random, all * 33, FloatType::bf16);
        const CudaActivations room = must(engine.make_activations(all, 130));
        CudaTarget y{caller.give(residual), CudaOutput::bf16, residual.size()};
        y.residual = {y.address, FloatType::bf16, residual.size()};
        std::vector<CudaWeights> experts;
        std::vector<CudaGroup> groups;
        std::vector<std::byte> want;
        experts.reserve(3);
        std::size_t row = 0;
        for (const std::int64_t rows : counts) {
          std::vector<std::int8_t> codes(33 * 130);
          for (auto& code : codes) code = static_cast<std::int8_t>(random() % 3) - 1;
          const auto packed = must(PackedWeights::pack(Codes{shape, codes, 0, {0.3f}}));
          const auto bias = random_bytes(random, 33, FloatType::f16);
          experts.push_back(must(engine.load(packed)));
          groups.push_back(
              {&experts.back(), rows, {caller.give(bias), FloatType::f16, bias.size()}});
          if (rows == 0) continue;
          const auto part = [&](const std::vector<std::byte>& of, std::size_t row_bytes) {
            return std::span(of).subspan(row * row_bytes,
                                         static_cast<std::size_t>(rows) * row_bytes);
          };
          const auto own = part(residual, 66);
          std::vector<std::byte> product(own.begin(), own.end());
          must(cpu.multiply(
              packed, must(Activations::quantise({FloatType::f32, part(values, 520)}, rows, 130)),
              FloatType::bf16, product, {{FloatType::f16, bias}, {FloatType::bf16, own}}));
          want.insert(want.end(), product.begin(), product.end());
          row += static_cast<std::size_t>(rows);
        }
        const CudaValues x{caller.give(values), FloatType::f32, values.size()};
        must(engine.multiply_grouped(caller.stream, groups, x, room, y));
        groups[2].bias.bytes -= 2;
        const auto short_bias = engine.multiply_grouped(caller.stream, groups, x, room, y);
        const bool same = caller.read<std::byte>(y.address, want.size()) == want && !short_bias &&
                          short_bias.error().kind == ErrorKind::wrong_size;
        const auto kind = [&](CudaTarget to) {
          const auto done = engine.multiply(caller.stream, experts[0],
                                            {x.address, x.type, 19 * 520}, room, 19, to);
          return done ? std::string("ok") : std::string(to_string(done.error().kind));
        };
        CudaTarget none = y, few = y, odd = y, type = y, sums = y;
        none.residual = {};
        few.residual.bytes -= 2;
        odd.bias = {static_cast<char*>(y.address) + 1, FloatType::f16, 66};
        type.residual.type = static_cast<FloatType>(7);
        sums = {caller.allocate(19 * 33 * 4), CudaOutput::int32, 19 * 33 * 4, {}, y.residual};
        return fmt::format("{}; {} {} {} {} {}", same, kind(none), kind(few), kind(odd), kind(type),
                           kind(sums));
      },
      "fake_cuda_ptx");
  EXPECT_EQ(outcome, "true; ok wrong_size wrong_size bad_input not_representable");
}

TEST(PtxTernaryEpilogueCaller, MayBeWrittenInC) {
  const auto outcome = in_child(
      "sms=2,memory=256MiB,guard=4KiB,cc=9.0",
      [] {
        const Caller caller;
        std::mt19937 random{25};
        const auto w = random_bytes(random, 33 * 128, FloatType::f32),
                   values = random_bytes(random, 3 * 128, FloatType::f32),
                   bias = random_bytes(random, 33, FloatType::bf16),
                   residual = random_bytes(random, 3 * 33, FloatType::f16);
        int failed = 0;
        const auto add = [&](gpuready_status status) { failed += status != GPUREADY_OK; };
        gpuready_ternary_packed* packed = nullptr;
        add(gpuready_ternary_pack_values(w.data(), GPUREADY_TERNARY_F32, 33 * 128, 33, 128,
                                         "i2_s-arm", GPUREADY_TERNARY_RULE_ABSMEAN,
                                         GPUREADY_TERNARY_TWO_BIT, 1, &packed));
        // By the CPU's engine.
        gpuready_ternary_options options{};
        options.size = sizeof options;
        options.target = "cpu";
        gpuready_ternary_engine* cpu = nullptr;
        add(gpuready_ternary_engine_create(&options, &cpu));
        gpuready_ternary_weights* weights = nullptr;
        add(gpuready_ternary_weights_from_packed(cpu, packed, &weights));
        std::vector<std::byte> want = residual;
        add(gpuready_ternary_multiply_add(cpu, weights, values.data(), GPUREADY_TERNARY_F32,
                                          3 * 128, 3, bias.data(), GPUREADY_TERNARY_BF16,
                                          want.data(), GPUREADY_TERNARY_F16, want.data(),
                                          GPUREADY_TERNARY_F16, want.size()));
        gpuready_ternary_cuda* engine = nullptr;
        add(gpuready_ternary_cuda_create(nullptr, &engine));
        gpuready_ternary_cuda_weights* loaded = nullptr;
        const gpuready_ternary_packed* one[] = {packed};
        add(gpuready_ternary_cuda_load(engine, one, 1, &loaded));
        gpuready_ternary_cuda_activations* room = nullptr;
        add(gpuready_ternary_cuda_activations_create(engine, 3, 128, &room));
        void *x = caller.give(values), *b = caller.give(bias), *first = caller.give(residual),
             *second = caller.give(residual);
        add(gpuready_ternary_cuda_multiply_values_add(
            engine, caller.stream, loaded, x, GPUREADY_TERNARY_F32, values.size(), room, 3, b,
            GPUREADY_TERNARY_BF16, first, GPUREADY_TERNARY_F16, first, GPUREADY_TERNARY_OUT_F16,
            residual.size(), nullptr, 0));
        add(gpuready_ternary_cuda_quantise(engine, caller.stream, x, GPUREADY_TERNARY_F32,
                                           values.size(), room, 3));
        add(gpuready_ternary_cuda_multiply_add(
            engine, caller.stream, loaded, room, 3, b, GPUREADY_TERNARY_BF16, second,
            GPUREADY_TERNARY_F16, second, GPUREADY_TERNARY_OUT_F16, residual.size(), nullptr, 0));
        int same = 0;
        for (const void* out : {first, second})
          same += caller.read<std::byte>(out, want.size()) == want;
        const auto bad = gpuready_ternary_multiply_add(
            cpu, weights, values.data(), GPUREADY_TERNARY_F32, 3 * 128, 3, bias.data(),
            static_cast<gpuready_ternary_type>(9), nullptr, GPUREADY_TERNARY_F32, want.data(),
            GPUREADY_TERNARY_F16, want.size());
        gpuready_ternary_cuda_activations_destroy(room);
        gpuready_ternary_cuda_weights_destroy(loaded);
        gpuready_ternary_cuda_destroy(engine);
        gpuready_ternary_weights_destroy(weights);
        gpuready_ternary_engine_destroy(cpu);
        gpuready_ternary_packed_destroy(packed);
        return fmt::format("{} failed, {} same, {}", failed, same, bad == GPUREADY_BAD_ARGUMENT);
      },
      "fake_cuda_ptx");
  EXPECT_EQ(outcome, "0 failed, 2 same, true");
}
}  // namespace
}  // namespace gpuready::ternary
