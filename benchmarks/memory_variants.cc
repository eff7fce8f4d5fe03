// Which shape of the memory kernels is fastest on a GPU: every variant of src/kernels and several
// grid sizes, as ratios to the best copy rate of the same run.
//   bench_memory_variants [GPU-UUID] [GiB]
// Without a UUID the first GPU that the driver lists is taken; without a size, 16 GiB are used.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_identity.h"
#include "kernels/memory_kernels.h"

GPUREADY_EMBEDDED(gpuready_ptx_memory_variants_sm_50)

namespace {

using namespace gpuready;

const KernelImage kImages[] = {
    {gpuready_ptx_memory_variants_sm_50_begin, gpuready_ptx_memory_variants_sm_50_end, 50, false}};

struct Variant {
  const char* suffix;
  unsigned threads, unroll;
  Kernel write, verify, invert, copy;
};
#define VARIANT(threads, unroll, suffix)                             \
  {                                                                  \
    #threads "_" #unroll suffix, threads, unroll,                    \
        {"write_" #threads "_" #unroll suffix, kImages, nullptr},    \
        {"verify_" #threads "_" #unroll suffix, kImages, nullptr},   \
        {"invert_" #threads "_" #unroll suffix, kImages, nullptr}, { \
      "copy_" #threads "_" #unroll suffix, kImages, nullptr          \
    }                                                                \
  }
const Variant kVariants[] = {
    VARIANT(256, 1, ""),  VARIANT(256, 2, ""),  VARIANT(256, 4, ""),    VARIANT(256, 8, ""),
    VARIANT(512, 1, ""),  VARIANT(512, 2, ""),  VARIANT(512, 4, ""),    VARIANT(1024, 1, ""),
    VARIANT(1024, 2, ""), VARIANT(1024, 4, ""), VARIANT(256, 4, "_cs"),
};
// How many tiles of a block follow each other.
constexpr unsigned kTilesPerBlock[] = {1, 2, 4, 8, 16};
constexpr int kRuns = 2;

struct Bench {
  Device& device;
  StreamTimer timer;
  DeviceBuffer memory, results;
  double copy_rate = 0;

  // Best of several runs, in bytes of traffic per second; 0 when the launch fails.
  // `between` runs after each: an inverting pass leaves the complement.
  double rate(const Kernel& kernel, const LaunchShape& shape, const void* params, std::size_t size,
              std::uint64_t traffic_bytes, const std::function<void()>& between = {}) {
    double best = 0;
    for (int run = 0; run <= kRuns; ++run) {
      if (!timer.start()) return 0;
      if (auto done = device.launch({}, kernel, shape, params, size); !done) {
        fmt::print("{}: {}\n", kernel.name, done.error().message);
        return 0;
      }
      auto ms = timer.stop_ms();
      if (!ms) {
        fmt::print("{}: {}\n", kernel.name, ms.error().message);
        return 0;
      }
      if (run > 0) best = std::max(best, static_cast<double>(traffic_bytes) / (*ms / 1e3));
      if (between) between();
    }
    return best;
  }

  void measure_driver_copy() {
    const std::uint64_t half = memory.bytes() / 2;
    for (int run = 0; run <= kRuns; ++run) {
      if (!timer.start()) return;
      if (!device.copy_on_device({}, memory.address() + half, memory.address(), half)) return;
      auto ms = timer.stop_ms();
      if (ms && run > 0) {
        copy_rate = std::max(copy_rate, static_cast<double>(2 * half) / (*ms / 1e3));
      }
    }
    fmt::print("driver's copy: {}\n", format_rate(copy_rate));
  }

  void measure(const Variant& variant, unsigned tiles_per_block) {
    const std::uint64_t words = memory.bytes() / 8;
    const std::uint64_t tile_words = std::uint64_t{variant.threads} * variant.unroll * 2;
    const auto shape = [&](std::uint64_t of_words) {
      LaunchShape launch;
      launch.threads = variant.threads;
      launch.blocks = static_cast<unsigned>(of_words / tile_words / tiles_per_block);
      return launch;
    };
    MemoryPassParams pass{};
    pass.base_address = memory.address();
    pass.words = words;
    pass.salt = 0x0123456789abcdef;
    pass.results_address = results.address();
    const std::uint64_t half = memory.bytes() / 2;
    const MemoryCopyParams copying{memory.address() + half, memory.address(), half};

    const double write = rate(variant.write, shape(words), &pass, sizeof pass, words * 8);
    const double verify = rate(variant.verify, shape(words), &pass, sizeof pass, words * 8);
    const double invert = rate(variant.invert, shape(words), &pass, sizeof pass, words * 16,
                               [&] { pass.invert = ~pass.invert; });
    const double copy = rate(variant.copy, shape(half / 8), &copying, sizeof copying, 2 * half);
    copy_rate = std::max(copy_rate, copy);
    fmt::print("{:<10} {:>3}  write {:6.3f}  verify {:6.3f}  invert {:6.3f}  copy {:6.3f}\n",
               variant.suffix, tiles_per_block, write / copy_rate, verify / copy_rate,
               invert / copy_rate, copy / copy_rate);
    std::fflush(stdout);
  }
};

// The shipped kernels, pattern by pattern.
void measure_patterns(Bench& bench) {
  constexpr std::pair<const char*, std::uint64_t> kPatterns[] = {{"address", kPatternAddress},
                                                                 {"random", kPatternRandom},
                                                                 {"walking", kPatternWalking},
                                                                 {"modulo", kPatternModulo}};
  for (const auto& [name, pattern] : kPatterns) {
    for (const unsigned tiles : {1u, 2u, 4u, 8u}) {
      LaunchShape shape;
      shape.threads = kMemoryKernelThreads;
      shape.blocks =
          static_cast<unsigned>(bench.memory.bytes() / kMemoryWriteWork.tile_bytes / tiles);
      MemoryPassParams pass{};
      pass.base_address = bench.memory.address();
      pass.words = bench.memory.bytes() / 8;
      pass.salt = 0x0123456789abcdef;
      pass.pattern = pattern;
      pass.key = 7;
      pass.results_address = bench.results.address();
      const auto ratio = [&](const Kernel& kernel, std::uint64_t bytes_a_word) {
        return bench.rate(kernel, shape, &pass, sizeof pass, pass.words * bytes_a_word) /
               bench.copy_rate;
      };
      const double write = ratio(kMemoryWrite, 8), verify = ratio(kMemoryVerify, 8);
      double invert = 0;
      if (pattern == kPatternAddress) {  // the only one that it does
        LaunchShape tiles_shape = shape;
        tiles_shape.blocks =
            static_cast<unsigned>(bench.memory.bytes() / kMemoryInvertWork.tile_bytes / tiles);
        const double rate = bench.rate(kMemoryInvert, tiles_shape, &pass, sizeof pass,
                                       pass.words * 16, [&] { pass.invert = ~pass.invert; });
        invert = rate / bench.copy_rate;
      }
      pass.select = kWriteOthers;
      const double others = pattern == kPatternModulo ? ratio(kMemoryWrite, 8) : 0;
      fmt::print("{:<8} {:>3}  write {:6.3f}  verify {:6.3f}  invert {:6.3f}  others {:6.3f}\n",
                 name, tiles, write, verify, invert, others);
    }
  }
}

Result<void> run(const std::string& wanted, std::uint64_t bytes) {
  std::string uuid = wanted;
  if (uuid.empty()) {
    auto driver = CudaDriver::start();
    if (!driver) return std::unexpected(driver.error());
    auto identities = list_cuda_identities(**driver);
    if (!identities) return std::unexpected(identities.error());
    if (identities->empty()) return fail(ErrorKind::not_found, "the driver lists no GPU");
    uuid = identities->front().uuid;
  }
  auto device = open_cuda_device(uuid);
  if (!device) return std::unexpected(device.error());
  auto timer = StreamTimer::make(**device, {});
  if (!timer) return std::unexpected(timer.error());
  auto memory = DeviceBuffer::make(**device, bytes);
  if (!memory) return std::unexpected(memory.error());
  auto results = DeviceBuffer::make(**device, sizeof(MemoryPassResults));
  if (!results) return std::unexpected(results.error());

  const DeviceInfo& info = (*device)->info();
  fmt::print("{}, {} SMs, {}; ratios are to the best copy rate seen so far\n", info.name,
             info.units, format_bytes(bytes));
  Bench bench{**device, std::move(*timer), std::move(*memory), std::move(*results)};
  bench.measure_driver_copy();
  for (const Variant& variant : kVariants) {
    for (unsigned tiles : kTilesPerBlock) bench.measure(variant, tiles);
  }
  measure_patterns(bench);
  fmt::print("best copy rate: {}\n", format_rate(bench.copy_rate));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  std::string uuid;
  std::uint64_t gib = 16;
  for (int i = 1; i < argc; ++i) {
    if (const auto number = gpuready::parse_uint(argv[i])) {
      gib = *number;
    } else {
      uuid = argv[i];
    }
  }
  if (auto done = run(uuid, gib * gpuready::GiB); !done) {
    fmt::print(stderr, "{}\n", done.error().message);
    return 1;
  }
  return 0;
}
