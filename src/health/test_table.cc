// The one list of health tests, in the order in which they run.
#include <array>

#include "health/bandwidth/test_bandwidth.h"
#include "health/compute/test_compute.h"
#include "health/fitness/matmul_benchmark.h"
#include "health/memory/test_memory.h"
#include "health/peers/test_peers.h"
#include "health/selftest.h"
#include "health/spoiled_device.h"
#include "health/tensor/test_tensor.h"
#include "health/test.h"

namespace gpuready {
namespace {

// A test of one device as the table wants it.
template <Verdict (*test)(Device&, const TestOptions&, const TestHooks&)>
Verdict on_one(std::span<Device* const> devices, const TestOptions& options,
               const TestHooks& hooks) {
  if (options.inject && is_device_fault(options.inject->kind))
    return test_on_spoiled_device(test, *devices.front(), options, hooks);
  return test(*devices.front(), options, hooks);
}

template <Verdict (*test)(Device&, Device&, const TestOptions&, const TestHooks&)>
Verdict on_pair(std::span<Device* const> devices, const TestOptions& options,
                const TestHooks& hooks) {
  return test(*devices[0], *devices[1], options, hooks);
}

constexpr std::string_view kEvery[] = {"cpu", "cuda", "hip", "vulkan"};
constexpr std::string_view kCpuAndCuda[] = {"cpu", "cuda"};
constexpr std::string_view kCuda[] = {"cuda"};

constexpr std::array kTests = {
    HealthTest{"memory",
               "every address and bit of the memory, read back as written",
               1,
               Level::quick,
               kEvery,
               on_one<test_memory>,
               {.kinds = true}},
    HealthTest{"compute",
               "every SM computes the golden results, bit for bit and at equal speed",
               1,
               Level::quick,
               kEvery,
               on_one<test_compute>,
               {.units = true}},
    HealthTest{"tensor",
               "dense matrix instructions (bf16, fp16, tf32, int8, fp8; neither FP64, "
               "sparse, fp4 nor tcgen05) on every SM against exact answers; the burn",
               1,
               Level::standard,
               kCuda,
               on_one<test_tensor>,
               {.rate = "bf16"}},
    HealthTest{"bandwidth", "copies to, from and within the GPU: every word, and how fast", 1,
               Level::standard, kCuda, on_one<test_bandwidth>},
    HealthTest{"peers", "two GPUs reach each other's memory: every word, and how fast", 2,
               Level::standard, kCuda, on_pair<test_peers>},
    HealthTest{"benchmark", "a matrix product within a time limit, every element checked", 1,
               std::nullopt, kCpuAndCuda, on_one<benchmark_matmul>},
    HealthTest{"selftest", "what a test finds of injected faults", 1, std::nullopt, kEvery,
               self_test},
    HealthTest{"selftest-pair", "the same of a test of two devices", 2, std::nullopt, kCuda,
               self_test},
};

}  // namespace

std::span<const HealthTest> health_tests() { return kTests; }

}  // namespace gpuready
