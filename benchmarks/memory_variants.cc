// Which shape of the memory kernels is fastest on a GPU: every variant of src/kernels and several
// grid sizes, as ratios to the best copy rate of the same run.
//   bench_memory_variants [GPU-UUID] [GiB]
// Without a UUID the first GPU that the driver lists is taken; without a size, 16 GiB are used.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "device/cuda_device.h"
#include "device/cuda_driver.h"
#include "kernels/memory_kernels.h"

GPUREADY_EMBEDDED(gpuready_ptx_memory_variants_sm_50)

namespace {

using namespace gpuready;

const KernelImage kImages[] = {
    {gpuready_ptx_memory_variants_sm_50_begin, gpuready_ptx_memory_variants_sm_50_end, 50, false}};

struct Variant {
  const char* suffix;
  unsigned threads, unroll;
  Kernel write, verify, copy;
};
#define VARIANT(threads, unroll, suffix)                             \
  {                                                                  \
    #threads "_" #unroll suffix, threads, unroll,                    \
        {"write_" #threads "_" #unroll suffix, kImages, nullptr},    \
        {"verify_" #threads "_" #unroll suffix, kImages, nullptr}, { \
      "copy_" #threads "_" #unroll suffix, kImages, nullptr          \
    }                                                                \
  }
const Variant kVariants[] = {
    VARIANT(256, 1, ""),    VARIANT(256, 2, ""),    VARIANT(256, 4, ""),    VARIANT(256, 8, ""),
    VARIANT(512, 4, ""),    VARIANT(1024, 2, ""),   VARIANT(256, 2, "_cs"), VARIANT(256, 4, "_cs"),
    VARIANT(256, 8, "_cs"), VARIANT(512, 4, "_cs"),
};
// Blocks launched per SM; 0 stands for as many as are resident at once, the last for one per tile.
constexpr unsigned kWholeGrid = ~0u;
constexpr unsigned kBlocksPerUnit[] = {0, 4, 8, 16, 32, 64, kWholeGrid};
constexpr int kRuns = 3;

struct Bench {
  Device& device;
  StreamTimer timer;
  DeviceBuffer memory, results;
  double copy_rate = 0;

  // Best of several runs, in bytes of traffic per second; 0 when the launch fails.
  double rate(const Kernel& kernel, const LaunchShape& shape, const void* params, std::size_t size,
              std::uint64_t traffic_bytes) {
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

  void measure(const Variant& variant, unsigned blocks_per_unit) {
    const std::uint64_t words = memory.bytes() / 8;
    const std::uint64_t tile_words = std::uint64_t{variant.threads} * variant.unroll * 2;
    const auto shape = [&](const Kernel& kernel, std::uint64_t of_words) {
      const std::uint64_t tiles = of_words / tile_words;
      std::uint64_t blocks = tiles;
      if (blocks_per_unit == 0) {
        auto resident = device.resident_blocks(kernel, variant.threads, 0);
        blocks = resident ? std::uint64_t{*resident} * device.info().units : 1;
      } else if (blocks_per_unit != kWholeGrid) {
        blocks = std::uint64_t{blocks_per_unit} * device.info().units;
      }
      LaunchShape launch;
      launch.threads = variant.threads;
      launch.blocks = static_cast<unsigned>(std::min<std::uint64_t>({blocks, tiles, 0x7fffffff}));
      return launch;
    };
    MemoryPassParams pass{};
    pass.base_address = memory.address();
    pass.words = words;
    pass.salt = 0x0123456789abcdef;
    pass.results_address = results.address();
    const std::uint64_t half = memory.bytes() / 2;
    const MemoryCopyParams copying{memory.address() + half, memory.address(), half};

    const double write =
        rate(variant.write, shape(variant.write, words), &pass, sizeof pass, words * 8);
    const double verify =
        rate(variant.verify, shape(variant.verify, words), &pass, sizeof pass, words * 8);
    const double copy =
        rate(variant.copy, shape(variant.copy, half / 8), &copying, sizeof copying, 2 * half);
    copy_rate = std::max(copy_rate, copy);
    const std::string grid = blocks_per_unit == 0            ? "resident"
                             : blocks_per_unit == kWholeGrid ? "one per tile"
                                                             : std::to_string(blocks_per_unit);
    fmt::print("{:<10} {:>12}  write {:>10} {:6.3f}  verify {:>10} {:6.3f}  copy {:>10} {:6.3f}\n",
               variant.suffix, grid, format_rate(write), write / copy_rate, format_rate(verify),
               verify / copy_rate, format_rate(copy), copy / copy_rate);
    std::fflush(stdout);
  }
};

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
    for (unsigned blocks : kBlocksPerUnit) bench.measure(variant, blocks);
  }
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
