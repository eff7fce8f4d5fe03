// bench_ternary_gemm DEVICE check: matrix products on a GPU, bit for bit against the CPU's engine.
#include <cstdio>
#include <cstring>
#include <random>
#include <string>

#include "gpuready/ternary.h"
#include "ternary_device/gpu_backend.h"
#include "ternary_device/gpu_layout.h"
#include "ternary_gemm_common.h"

namespace gpuready::ternary {
namespace {

FloatType float_type(GemmInput type) {
  return type == kGemmF32 ? FloatType::f32 : type == kGemmF16 ? FloatType::f16 : FloatType::bf16;
}

enum class Fill { random, greatest, least };

struct Case {
  Problem p;
  Fill fill = Fill::random;
};

struct Checker {
  Device& device;
  CpuEngine engine;
  std::mt19937_64 random{20250807};
  unsigned long compared = 0, wrong = 0;

  struct Input {
    GemmInput type;
    std::vector<std::byte> bytes;
  };

  std::int8_t weight(Fill fill) {
    if (fill == Fill::random) return static_cast<std::int8_t>(static_cast<int>(random() % 3) - 1);
    return fill == Fill::greatest ? 1 : -1;
  }

  std::vector<Input> inputs(const Case& c) {
    std::vector<Input> result;
    const auto count = static_cast<std::size_t>(c.p.m * c.p.k);
    for (const GemmInput type : {kGemmF32, kGemmF16, kGemmBf16, kGemmInt8}) {
      const std::size_t size = type == kGemmF32 ? 4 : type == kGemmInt8 ? 1 : 2;
      Input input{type, std::vector<std::byte>(count * size)};
      for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t bits = 0;
        const std::uint64_t r = random();
        if (c.fill != Fill::random) {
          const bool low = i % static_cast<std::size_t>(c.p.k) % 2 == 0 && c.fill == Fill::least;
          bits = type == kGemmInt8  ? (low ? 0x80 : 0x7f)
                 : type == kGemmF32 ? (low ? 0xc0400000u : 0x40400000u)
                 : type == kGemmF16 ? (low ? 0xc200u : 0x4200u)
                                    : (low ? 0xc040u : 0x4040u);
        } else if (type == kGemmF32) {
          const float value =
              static_cast<float>(static_cast<std::int64_t>(r >> 20 & 0xffffff) - 0x800000) *
              1.1e-6f;
          std::memcpy(&bits, &value, 4);
        } else if (type == kGemmF16) {  // all finite ones, subnormals too
          bits = static_cast<std::uint32_t>(r & 0xffff);
          if ((bits & 0x7c00) == 0x7c00) bits &= ~0x0400u;
        } else if (type == kGemmBf16) {
          bits = static_cast<std::uint32_t>((r & 0x80ff) | 0x3f00);
        } else {
          bits = static_cast<std::uint32_t>(r & 0xff);
        }
        std::memcpy(input.bytes.data() + i * size, &bits, size);
      }
      result.push_back(std::move(input));
    }
    return result;
  }

  Activations activations(const Case& c, const Input& input, std::span<const float> steps) {
    if (input.type == kGemmInt8) {
      return *Activations::from_int8(
          {reinterpret_cast<const std::int8_t*>(input.bytes.data()), input.bytes.size()}, c.p.m,
          c.p.k, steps);
    }
    return *Activations::quantise({float_type(input.type), input.bytes}, c.p.m, c.p.k);
  }

  std::vector<std::byte> expected(const PackedWeights& weights, const Activations& y,
                                  OutputType type) {
    const auto count = static_cast<std::size_t>(y.rows() * weights.shape().rows);
    std::vector<std::byte> out(count * (type == OutputType::bf16 ? 2 : 4));
    const auto as = [&]<class T>(T) { return std::span(reinterpret_cast<T*>(out.data()), count); };
    const auto done = type == OutputType::int32 ? engine.multiply(weights, y, as(std::int32_t{}))
                      : type == OutputType::f32
                          ? engine.multiply(weights, y, as(float{}))
                          : engine.multiply_bf16(weights, y, as(std::uint16_t{}));
    if (!done) {
      fmt::print(stderr, "{}\n", done.error().message);
      std::exit(2);
    }
    return out;
  }

  void run(const Case& c, const std::vector<GemmPlan>& plans) {
    Codes codes{{c.p.n, c.p.k}, {}, c.p.k, {}};
    codes.values.resize(static_cast<std::size_t>(c.p.n * c.p.k));
    for (auto& w : codes.values) w = weight(c.fill);
    for (std::int64_t n = 0; n < c.p.n; ++n)
      codes.scales.push_back(0.01f * static_cast<float>(random() % 1000 + 1));
    const PackedWeights packed = *PackedWeights::pack(codes);
    std::vector<float> steps(static_cast<std::size_t>(c.p.m));
    for (float& s : steps) s = 1e-4f * static_cast<float>(random() % 9999 + 1);

    Buffers buffers(device);
    const GpuWeightsView weights{.tiles = buffers.put(gpu_tiles(codes.values, codes.shape)),
                                 .scales = buffers.put(codes.scales),
                                 .shape = codes.shape};
    const GpuActivationsView rows = make_rows(buffers, c.p.m, c.p.k);
    std::uint64_t workspace_bytes = 0;
    for (const GemmPlan& plan : plans)
      workspace_bytes = std::max(workspace_bytes, plan.workspace_bytes);
    // What was there before must not matter.
    const DeviceAddress workspace =
        buffers.put(std::vector<std::uint8_t>(workspace_bytes, std::uint8_t{0xA5}));
    const auto count = static_cast<std::size_t>(c.p.m * c.p.n);
    for (const Input& input : inputs(c)) {
      const Activations y = activations(c, input, steps);
      const DeviceAddress values = buffers.put(input.bytes);
      poison(rows);
      bool told = false;
      for (const OutputType type : {OutputType::int32, OutputType::f32, OutputType::bf16}) {
        const auto right = expected(packed, y, type);
        const DeviceAddress out = buffers.make(count * 4);
        for (const GemmPlan& plan : plans) {
          const std::vector<std::byte> poison(right.size(), std::byte{0xEE});
          must(device.copy_to_device({}, out, poison.data(), poison.size()));
          if (input.type == kGemmInt8) {
            put_codes(rows, y);
            must(enqueue_gemm_tiles(device, {}, c.p.m, rows));
          } else {
            must(enqueue_gemm_quantise(device, {}, values, float_type(input.type), c.p.m, rows));
          }
          must(enqueue_gemm_product(device, {}, plan, weights, rows, workspace, type, out));
          std::vector<std::byte> actual(right.size());
          must(device.copy_to_host({}, actual.data(), out, actual.size()));
          must(device.synchronize({}));
          if (!told && input.type != kGemmInt8) check_rows(c, rows, y);
          told = true;
          ++compared;
          if (actual == right) continue;
          ++wrong;
          const std::size_t size = type == OutputType::bf16 ? 2 : 4;
          std::size_t first = count, differ = 0;
          for (std::size_t i = 0; i < count; ++i) {
            if (std::memcmp(actual.data() + i * size, right.data() + i * size, size) == 0) continue;
            first = std::min(first, i);
            ++differ;
          }
          if (wrong <= 20) {
            std::uint32_t a = 0, b = 0;
            std::memcpy(&a, actual.data() + first * size, size);
            std::memcpy(&b, right.data() + first * size, size);
            fmt::print(
                "WRONG {}x{}x{} fill {} input {} output {}: {} tile {}x{} split {} blocks {}: "
                "{} of {} differ, first ({}, {}): {:#x}, not {:#x}\n",
                c.p.m, c.p.n, c.p.k, static_cast<int>(c.fill), static_cast<int>(input.type),
                static_cast<int>(type), to_string(plan.kernel), plan.tile.features,
                plan.tile.tokens, plan.split_tiles, plan.blocks, differ, count,
                first / static_cast<std::size_t>(c.p.n), first % static_cast<std::size_t>(c.p.n), a,
                b);
          }
        }
      }
    }
  }

  // The rows' facts, and the codes that vectors take, must be those of the CPU.
  void check_rows(const Case& c, const GpuActivationsView& view, const Activations& y) {
    std::vector<GpuActivationRow> facts(static_cast<std::size_t>(c.p.m));
    std::vector<std::int8_t> codes(static_cast<std::size_t>(std::min(c.p.m, kMatrixRows)) *
                                   view.stride);
    must(device.copy_to_host({}, facts.data(), view.rows, facts.size() * sizeof facts[0]));
    must(device.copy_to_host({}, codes.data(), view.codes, codes.size()));
    must(device.synchronize({}));
    bool same = true;
    for (std::size_t m = 0; m < facts.size(); ++m) {
      same &= facts[m].step == y.steps()[m] && facts[m].sum == y.sums()[m] &&
              facts[m].bad_column == kNoColumn;
      if (m * view.stride >= codes.size()) continue;
      const auto row = y.row(static_cast<std::int64_t>(m));
      same &= std::equal(row.begin(), row.end(), codes.begin() + m * view.stride);
    }
    ++compared;
    if (!same) ++wrong, fmt::print("WRONG rows of {}x{}\n", c.p.m, c.p.k);
  }

  void put_codes(const GpuActivationsView& view, const Activations& y) {
    const auto rows = static_cast<std::size_t>(y.rows());
    std::vector<std::int8_t> codes(rows * view.stride);
    std::vector<GpuActivationRow> facts(rows);
    for (std::size_t m = 0; m < rows; ++m) {
      const auto row = y.row(static_cast<std::int64_t>(m));
      std::copy(row.begin(), row.end(), codes.begin() + m * view.stride);
      facts[m] = {y.steps()[m], y.sums()[m], kNoColumn, 0};
    }
    must(device.copy_to_device({}, view.codes, codes.data(), codes.size()));
    must(device.copy_to_device({}, view.rows, facts.data(), facts.size() * sizeof facts[0]));
    must(device.synchronize({}));
  }

  void poison(const GpuActivationsView& view) {
    const std::vector<std::byte> bytes(gemm_tiles_bytes(view.capacity_rows, view.cols),
                                       std::byte{0x77});
    must(device.copy_to_device({}, view.tiles, bytes.data(), bytes.size()));
    must(device.copy_to_device({}, view.rows, bytes.data(),
                               static_cast<std::uint64_t>(view.capacity_rows) * 16));
    must(device.synchronize({}));
  }
};

void check_not_finite(Checker& checker) {
  Buffers buffers(checker.device);
  struct Bad {
    GemmInput type;
    std::uint32_t bits;
  };
  for (const std::int64_t k : {300, 320, 20000}) {
    const GpuActivationsView rows = make_rows(buffers, 3, k);
    for (const Bad bad :
         {Bad{kGemmF32, 0x7f800000}, Bad{kGemmF32, 0xffc00001}, Bad{kGemmF16, 0x7c00},
          Bad{kGemmF16, 0xfe00}, Bad{kGemmBf16, 0xff80}, Bad{kGemmBf16, 0x7f81}}) {
      const std::size_t size = bad.type == kGemmF32 ? 4 : 2;
      for (const std::int64_t place : {std::int64_t{0}, k - 1, k, 3 * k - 2}) {
        std::vector<std::byte> values(static_cast<std::size_t>(3 * k) * size);
        std::memcpy(values.data() + static_cast<std::size_t>(place) * size, &bad.bits, size);
        std::memcpy(values.data() + static_cast<std::size_t>(3 * k - 1) * size, &bad.bits, size);
        must(enqueue_gemm_quantise(checker.device, {}, buffers.put(values), float_type(bad.type), 3,
                                   rows));
        GpuActivationRow facts[3];
        must(checker.device.copy_to_host({}, facts, rows.rows, sizeof facts));
        must(checker.device.synchronize({}));
        ++checker.compared;
        bool right = true;
        for (std::int64_t m = 0; m < 3; ++m) {
          const std::int64_t last = m == 2 ? k - 1 : std::int64_t{kNoColumn};
          const std::int64_t first = place / k == m ? place % k : last;
          right &= facts[m].bad_column == first &&
                   (facts[m].step == facts[m].step) == (first == std::int64_t{kNoColumn});
        }
        if (!right) ++checker.wrong, fmt::print("WRONG: {:#x} at {} of {}\n", bad.bits, place, k);
      }
    }
  }
}

// What users call: the backend takes these kernels from kMatrixRows rows on.
void check_backend(Checker& checker, std::string_view uuid) {
  auto made = make_cuda_backend(uuid);
  if (!made) {
    fmt::print(stderr, "{}\n", made.error().message);
    std::exit(2);
  }
  Backend& backend = **made;
  for (const Problem p : {Problem{15, 300, 700},
                          {16, 300, 700},
                          {17, 256, 1024},
                          {200, 1000, 2000},
                          {64, 4096, 14336}}) {
    Codes codes{{p.n, p.k}, {}, 0, {0.37f}};
    for (std::int64_t i = 0; i < p.n * p.k; ++i)
      codes.values.push_back(checker.weight(Fill::random));
    const PackedWeights packed = *PackedWeights::pack(codes);
    const auto weights = backend.load(packed);
    std::vector<float> values(static_cast<std::size_t>(p.m * p.k));
    std::normal_distribution<float> normal;
    for (float& v : values) v = normal(checker.random);
    const FloatView view{std::span<const float>(values)};
    const Activations y = *Activations::quantise(view, p.m, p.k);
    for (const OutputType type : {OutputType::int32, OutputType::f32, OutputType::bf16}) {
      const auto right = checker.expected(packed, y, type);
      for (const bool quantised : {false, true}) {
        std::vector<std::byte> out(right.size());
        OutputView to{std::span<float>()};
        to.type = type;
        to.bytes = out;
        const auto done = quantised ? backend.multiply(**weights, y, to)
                                    : backend.multiply(**weights, view, p.m, to);
        ++checker.compared;
        if (!done || out != right) {
          ++checker.wrong;
          fmt::print("WRONG backend {}x{}x{} by {}: {}\n", p.m, p.n, p.k,
                     backend.kernel_for({p.n, p.k}, p.m), done ? "bits" : done.error().message);
        }
      }
    }
  }
  fmt::print("backend: {} for 16 rows, {} for 17\n", backend.kernel_for({300, 700}, 16),
             backend.kernel_for({300, 700}, 17));
}

}  // namespace

int check_gemm(Device& device) {
  Checker checker{device, *CpuEngine::create()};
  const auto run = [&](Problem p, Fill fill) { checker.run({p, fill}, plans_of(device, p, true)); };
  const std::int64_t tails_m[] = {1, 2, 7, 8, 17, 31, 33, 64, 65, 127, 128, 129, 200, 257, 300};
  const std::int64_t tails_n[] = {1, 3, 8, 15, 16, 17, 31, 40, 128, 129, 255, 256, 257, 272, 520};
  const std::int64_t tails_k[] = {1, 2, 5, 16, 31, 32, 100, 127, 128, 129, 255, 384, 513, 1000};
  for (const auto m : tails_m) run({m, 272, 384}, Fill::random);
  for (const auto n : tails_n) run({130, n, 384}, Fill::random);
  for (const auto k : tails_k) run({130, 272, k}, Fill::random);
  for (int i = 0; i < 60; ++i) {
    const auto draw = [&](std::int64_t most) {
      return static_cast<std::int64_t>(checker.random() % static_cast<std::uint64_t>(most)) + 1;
    };
    run({draw(400), draw(1200), draw(1500)}, Fill::random);
  }
  for (const Fill fill : {Fill::random, Fill::greatest, Fill::least})
    for (const std::int64_t k : {4096, 16384, 32768}) run({70, 300, k}, fill);
  // As many tiles as fill a GPU more than once, and not evenly.
  run({512, 13824, 2560}, Fill::random);
  run({700, 9000, 1024}, Fill::random);
  run({130, 5120, 8192}, Fill::random);
  check_not_finite(checker);
  if (device.info().executor == "cuda") check_backend(checker, *device.info().uuid);
  fmt::print("check: {} products compared on {}, {} wrong\n", checker.compared, device.info().name,
             checker.wrong);
  return checker.wrong == 0 ? 0 : 1;
}

}  // namespace gpuready::ternary
