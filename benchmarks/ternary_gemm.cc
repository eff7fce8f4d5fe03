// Ternary matrix products on a GPU: exactness against the CPU, and times.
//   bench_ternary_gemm DEVICE check            bit for bit: tails, greatest values, K up to 32768
//   bench_ternary_gemm DEVICE time [SHAPE]...  SHAPE = MxNxK, for example 512x13824x2560
//   bench_ternary_gemm DEVICE plans [SHAPE]... every tile size, whole and split
// Lines of `time`: shape, kernel, tokens of a tile, split tiles, blocks, then microseconds of the
// product, of the quantisation of bf16, and of both. benchmarks/ternary_gemm.py holds cuBLAS
// against it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "device/open_device.h"
#include "gpuready/ternary.h"
#include "kernels/ternary_layout.h"
#include "ternary_device/gpu_gemm.h"

namespace {

using namespace gpuready;
using namespace gpuready::ternary;

template <class T>
T must(std::expected<T, gpuready::Error> result) {
  if (!result) {
    fmt::print(stderr, "{}\n", result.error().message);
    std::exit(2);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

struct Problem {
  std::int64_t m = 0, n = 0, k = 0;
};

Problem parse(const char* text) {
  Problem p;
  if (std::sscanf(text, "%ldx%ldx%ld", &p.m, &p.n, &p.k) != 3) {
    fmt::print(stderr, "not MxNxK: {}\n", text);
    std::exit(2);
  }
  return p;
}

class Buffers {
 public:
  explicit Buffers(Device& device) : device_(device) {}
  DeviceAddress make(std::uint64_t bytes) {
    buffers_.push_back(must(DeviceBuffer::make(device_, std::max<std::uint64_t>(bytes, 256))));
    return buffers_.back().address();
  }
  template <class T>
  DeviceAddress put(const std::vector<T>& values) {
    const DeviceAddress address = make(values.size() * sizeof(T));
    must(device_.copy_to_device({}, address, values.data(), values.size() * sizeof(T)));
    must(device_.synchronize({}));
    return address;
  }

 private:
  Device& device_;
  std::vector<DeviceBuffer> buffers_;
};

std::vector<std::uint32_t> layout_words(const Codes& codes) {
  const auto rows = static_cast<std::uint64_t>(codes.shape.rows);
  const auto cols = static_cast<std::uint64_t>(codes.shape.cols);
  const std::uint64_t col_tiles = tiles_of(cols, kTileCols);
  std::vector<std::uint32_t> words(tiles_of(rows, kTileRows) * col_tiles * kTileBytes / 4,
                                   0x55555555);
  for (std::uint64_t n = 0; n < rows; ++n)
    for (std::uint64_t k = 0; k < cols; ++k) {
      const WeightPlace place = weight_place(n, k, col_tiles);
      const auto code = static_cast<std::uint32_t>(codes.values[n * cols + k] + 1);
      words[place.word] ^= (code ^ 1) << place.shift;
    }
  return words;
}

// ---- Exactness ----------------------------------------------------------------------------------

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
    const FloatType type = input.type == kGemmF32   ? FloatType::f32
                           : input.type == kGemmF16 ? FloatType::f16
                                                    : FloatType::bf16;
    return *Activations::quantise({type, input.bytes}, c.p.m, c.p.k);
  }

  std::vector<std::byte> expected(const PackedWeights& weights, const Activations& y,
                                  GemmOutput type) {
    const auto count = static_cast<std::size_t>(y.rows() * weights.shape().rows);
    std::vector<std::byte> out(count * (type == kGemmOutBf16 ? 2 : 4));
    const auto as = [&]<class T>(T) { return std::span(reinterpret_cast<T*>(out.data()), count); };
    const auto done = type == kGemmOutInt32 ? engine.multiply(weights, y, as(std::int32_t{}))
                      : type == kGemmOutF32 ? engine.multiply(weights, y, as(float{}))
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
    const GemmWeights weights{buffers.put(layout_words(codes)), buffers.put(codes.scales)};
    const DeviceAddress step_address = buffers.put(steps);
    const DeviceAddress flag = buffers.put(std::vector<std::uint32_t>{0});
    std::uint64_t workspace_bytes = 0;
    for (const GemmPlan& plan : plans)
      workspace_bytes = std::max(workspace_bytes, plan.workspace_bytes);
    // What was there before must not matter.
    const DeviceAddress workspace =
        buffers.put(std::vector<std::uint8_t>(workspace_bytes, std::uint8_t{0xA5}));
    const auto count = static_cast<std::size_t>(c.p.m * c.p.n);
    for (const Input& input : inputs(c)) {
      const Activations y = activations(c, input, steps);
      const GemmInputs in{input.type, buffers.put(input.bytes),
                          input.type == kGemmInt8 ? step_address : 0, flag};
      for (const GemmOutput type : {kGemmOutInt32, kGemmOutF32, kGemmOutBf16}) {
        const auto right = expected(packed, y, type);
        const DeviceAddress out = buffers.make(count * 4);
        for (const GemmPlan& plan : plans) {
          const std::vector<std::byte> poison(right.size(), std::byte{0xEE});
          must(device.copy_to_device({}, out, poison.data(), poison.size()));
          must(enqueue_gemm_prepare(device, {}, plan, in, workspace));
          must(enqueue_gemm_product(device, {}, plan, weights, workspace, type, out));
          std::vector<std::byte> actual(right.size());
          must(device.copy_to_host({}, actual.data(), out, actual.size()));
          must(device.synchronize({}));
          ++compared;
          if (actual == right) continue;
          ++wrong;
          const std::size_t size = type == kGemmOutBf16 ? 2 : 4;
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
                "WRONG {}x{}x{} fill {} input {} output {}: {} tile {} split {} blocks {}: "
                "{} of {} differ, first ({}, {}): {:#x}, not {:#x}\n",
                c.p.m, c.p.n, c.p.k, static_cast<int>(c.fill), static_cast<int>(input.type),
                static_cast<int>(type), to_string(plan.kernel), plan.tokens, plan.split_tiles,
                plan.blocks, differ, count, first / static_cast<std::size_t>(c.p.n),
                first % static_cast<std::size_t>(c.p.n), a, b);
          }
        }
      }
    }
    std::uint32_t not_finite = 0;
    must(device.copy_to_host({}, &not_finite, flag, 4));
    must(device.synchronize({}));
    if (not_finite != 0) ++wrong, fmt::print("WRONG: finite values were called not finite\n");
  }
};

std::vector<GemmPlan> plans_of(Device& device, Problem p, bool automatic_too) {
  const unsigned units = device.info().units;
  const Shape shape{p.n, p.k};
  std::vector<GemmPlan> plans;
  if (gemm_kernel_of(device.info()) != GemmKernel::mma) {
    for (const unsigned tokens : {128u, 64u, 32u})
      for (const bool split : {false, true}) {
        GemmPlan plan = plan_gemm(units, shape, p.m, tokens, split);
        if (!split || plan.split_tiles != 0) plans.push_back(plan);
      }
    if (automatic_too) plans.push_back(plan_gemm(GemmKernel::wgmma, units, shape, p.m));
  }
  plans.push_back(plan_gemm(GemmKernel::mma, units, shape, p.m));
  return plans;
}

void check_not_finite(Checker& checker) {
  Buffers buffers(checker.device);
  const Problem p{3, 16, 300};
  const GemmPlan plan = plan_gemm(GemmKernel::mma, 1, {p.n, p.k}, p.m);
  const DeviceAddress workspace = buffers.make(plan.workspace_bytes);
  struct Bad {
    GemmInput type;
    std::uint32_t bits;
  };
  for (const Bad bad : {Bad{kGemmF32, 0x7f800000}, Bad{kGemmF32, 0xffc00001}, Bad{kGemmF16, 0x7c00},
                        Bad{kGemmF16, 0xfe00}, Bad{kGemmBf16, 0xff80}, Bad{kGemmBf16, 0x7f81}}) {
    const std::size_t size = bad.type == kGemmF32 ? 4 : 2;
    for (const std::size_t place : {0ul, 299ul, 300ul, 898ul}) {
      std::vector<std::byte> values(static_cast<std::size_t>(p.m * p.k) * size);
      std::memcpy(values.data() + place * size, &bad.bits, size);
      const DeviceAddress flag = buffers.put(std::vector<std::uint32_t>{0});
      must(enqueue_gemm_prepare(checker.device, {}, plan, {bad.type, buffers.put(values), 0, flag},
                                workspace));
      std::uint32_t told = 0;
      must(checker.device.copy_to_host({}, &told, flag, 4));
      must(checker.device.synchronize({}));
      ++checker.compared;
      if (told != 1) ++checker.wrong, fmt::print("WRONG: {:#x} passed for finite\n", bad.bits);
    }
  }
}

int check(Device& device) {
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
  fmt::print("check: {} products compared on {}, {} wrong\n", checker.compared, device.info().name,
             checker.wrong);
  return checker.wrong == 0 ? 0 : 1;
}

// ---- Times --------------------------------------------------------------------------------------

struct Workload {
  Buffers buffers;
  Problem p;
  GemmWeights weights;
  GemmInputs inputs;
  DeviceAddress out = 0, workspace = 0;

  Workload(Device& device, Problem problem) : buffers(device), p(problem) {
    std::mt19937_64 random(7);
    const std::uint64_t words = tiles_of(static_cast<std::uint64_t>(p.n), kTileRows) *
                                tiles_of(static_cast<std::uint64_t>(p.k), kTileCols) * kTileBytes /
                                4;
    std::vector<std::uint32_t> codes(words);
    for (auto& word : codes) {
      const auto high = static_cast<std::uint32_t>(random()),
                 low = static_cast<std::uint32_t>(random());
      const std::uint32_t h = high & 0x55555555;
      word = h << 1 | (low & 0x55555555 & ~h);
    }
    weights = {buffers.put(codes),
               buffers.put(std::vector<float>(static_cast<std::size_t>(p.n), 0.02f))};
    std::vector<std::uint16_t> block(1 << 20), values(static_cast<std::size_t>(p.m * p.k));
    std::normal_distribution<float> normal;
    for (auto& v : block)
      v = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(normal(random)) >> 16);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = block[i * 7919 % block.size()];
    inputs = {kGemmBf16, buffers.put(values), 0, buffers.put(std::vector<std::uint32_t>{0})};
    out = buffers.make(static_cast<std::uint64_t>(p.m * p.n) * 2);
  }
};

// Microseconds of one; the median of 7 batches that take some ms each.
double time_us(Device& device, StreamId stream, const std::function<void()>& once) {
  StreamTimer timer = must(StreamTimer::make(device, stream));
  const auto batch = [&](unsigned count) {
    must(timer.start());
    for (unsigned i = 0; i < count; ++i) once();
    return must(timer.stop_ms()) * 1e3 / count;
  };
  batch(3);
  const double guess = batch(10);
  const auto count = static_cast<unsigned>(std::clamp(8e3 / guess, 5.0, 400.0));
  std::vector<double> times;
  for (int i = 0; i < 7; ++i) times.push_back(batch(count));
  std::nth_element(times.begin(), times.begin() + 3, times.end());
  return times[3];
}

void time_plan(Device& device, StreamId stream, Workload& work, const GemmPlan& plan) {
  const auto prepare = [&] {
    must(enqueue_gemm_prepare(device, stream, plan, work.inputs, work.workspace));
  };
  // Split tiles are counted anew by what prepares: such a product alone is the difference.
  const auto multiply = [&] {
    must(enqueue_gemm_product(device, stream, plan, work.weights, work.workspace, kGemmOutBf16,
                              work.out));
  };
  const double prepare_us = time_us(device, stream, prepare);
  const double both_us = time_us(device, stream, [&] {
    prepare();
    multiply();
  });
  const double product_us =
      plan.split_tiles == 0 ? time_us(device, stream, multiply) : both_us - prepare_us;
  fmt::print("{}x{}x{} {} {} {} {} {:.2f} {:.2f} {:.2f} {:.0f}\n", work.p.m, work.p.n, work.p.k,
             to_string(plan.kernel), plan.tokens, plan.split_tiles, plan.blocks, product_us,
             prepare_us, both_us,
             2e-6 * static_cast<double>(work.p.m) * static_cast<double>(work.p.n) *
                 static_cast<double>(work.p.k) / both_us);
  std::fflush(stdout);
}

int time_shapes(Device& device, std::span<char*> shapes, bool all_plans) {
  const StreamId stream = must(device.create_stream());
  for (const char* text : shapes) {
    const Problem p = parse(text);
    Workload work(device, p);
    std::vector<GemmPlan> plans = plans_of(device, p, false);
    if (!all_plans) {
      const auto kernel = gemm_kernel_of(device.info()).value_or(GemmKernel::mma);
      plans = {plan_gemm(kernel, device.info().units, {p.n, p.k}, p.m)};
    }
    std::uint64_t bytes = 0;
    for (const GemmPlan& plan : plans) bytes = std::max(bytes, plan.workspace_bytes);
    work.workspace = work.buffers.make(bytes);
    for (const GemmPlan& plan : plans) time_plan(device, stream, work, plan);
  }
  must(device.destroy_stream(stream));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[2] : "";
  if (what != "check" && what != "time" && what != "plans") {
    fmt::print(stderr, "usage: {} DEVICE check|time|plans [MxNxK]...\n", argv[0]);
    return 2;
  }
  const auto device = must(open_device(must(parse_device_choice(argv[1])), {}));
  if (what == "check") return check(*device);
  return time_shapes(*device, std::span(argv + 3, argv + argc), what == "plans");
}
