// bench_ternary_gemm DEVICE check: matrix products on a GPU, bit for bit against the CPU's engine.
#include <cstring>
#include <string>

#include "ternary/device/gpu_backend.h"
#include "ternary_gemm_checker.h"

namespace gpuready::ternary {
namespace {

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

// Scales by group, by what the backend takes; now and then with scales that wgmma leaves to others.
void check_groups(Checker& checker, Backend& backend) {
  const auto draw = [&](std::int64_t most) {
    return static_cast<std::int64_t>(checker.random() % static_cast<std::uint64_t>(most)) + 1;
  };
  for (int i = 0; i < 120; ++i) {
    const Problem p = i == 0 ? Problem{512, 2560, 6912} : Problem{draw(400), draw(700), draw(3000)};
    const std::int64_t group = std::int64_t{32} << checker.random() % 4;
    std::vector<std::int8_t> codes(static_cast<std::size_t>(p.n * p.k));
    for (auto& w : codes) w = checker.weight(i % 10 == 1 ? Fill::greatest : Fill::random);
    std::vector<float> scales(static_cast<std::size_t>(p.n * ((p.k + group - 1) / group)));
    for (float& s : scales) s = static_cast<float>(draw(4096) - 2048) * 0.0007f;
    if (i % 8 == 7) scales[checker.random() % scales.size()] = 0x1.8p-130f;
    const PackedWeights packed =
        *PackedWeights::pack(codes, {p.n, p.k}, {std::span<const float>(scales), group});
    std::vector<std::int8_t> y(static_cast<std::size_t>(p.m * p.k));
    for (auto& v : y) v = static_cast<std::int8_t>(checker.random());
    std::vector<float> steps(static_cast<std::size_t>(p.m));
    for (float& s : steps) s = 1e-4f * static_cast<float>(draw(9999));
    const Activations activations = *Activations::from_int8(y, p.m, p.k, steps);
    const auto weights = backend.load(packed);
    for (const OutputType type : {OutputType::f32, OutputType::bf16}) {
      const auto right = checker.expected(packed, activations, type);
      std::vector<std::byte> out(right.size());
      OutputView to{std::span<float>()};
      to.type = type;
      to.bytes = out;
      const auto done = backend.multiply(**weights, activations, to);
      ++checker.compared;
      if (done && out == right) continue;
      ++checker.wrong;
      fmt::print("WRONG {}x{}x{} with groups of {}: {}\n", p.m, p.n, p.k, group,
                 done ? "bits" : done.error().message);
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
  check_groups(checker, backend);
  fmt::print("backend: {} for 16 rows, {} for 17\n", backend.kernel_for({300, 700}, 16),
             backend.kernel_for({300, 700}, 17));
}

}  // namespace

int check_gemm(Device& device) {
  Checker checker{device, *CpuEngine::create()};
  const auto run = [&](Problem p, Fill fill) { checker.run({p, fill}, plans_of(device, p, true)); };
  const std::int64_t tails_m[] = {1,  2,  7,   8,   17,  31,  33,  64, 65,
                                  96, 97, 127, 128, 129, 200, 257, 300};
  const std::int64_t tails_n[] = {1, 3, 8, 15, 16, 17, 31, 40, 128, 129, 255, 256, 257, 272, 520};
  const std::int64_t tails_k[] = {1, 2, 5, 16, 31, 32, 100, 127, 128, 129, 255, 384, 513, 1000};
  for (const auto m : tails_m) run({m, 272, 384}, Fill::random);
  for (const auto n : tails_n) run({130, n, 384}, Fill::random);
  for (const auto k : tails_k) run({130, 272, k}, Fill::random);
  for (const std::int64_t k : {3200, 7168, 12288})
    run({33, 40, k}, Fill::random);  // 2 to 10 warps a row
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
