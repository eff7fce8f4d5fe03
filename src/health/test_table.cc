// The one list of health tests, in the order in which they run.
#include <array>

#include "health/compute_test.h"
#include "health/matmul_benchmark.h"
#include "health/memory_test.h"
#include "health/selftest.h"
#include "health/test.h"

namespace gpuready {
namespace {

// A test of one device as the table wants it.
template <Verdict (*test)(Device&, const TestOptions&, const TestHooks&)>
Verdict on_one(std::span<Device* const> devices, const TestOptions& options,
               const TestHooks& hooks) {
  return test(*devices.front(), options, hooks);
}

constexpr std::string_view kEvery[] = {"cpu", "cuda", "hip", "vulkan"};
constexpr std::string_view kAllButHip[] = {"cpu", "cuda", "vulkan"};
constexpr std::string_view kCpuAndCuda[] = {"cpu", "cuda"};

constexpr std::array kTests = {
    HealthTest{"memory", "every address and bit of the memory, read back as written", 1,
               Level::quick, kEvery, on_one<test_memory>},
    HealthTest{"compute", "every SM computes the golden results, bit for bit and at equal speed", 1,
               Level::quick, kAllButHip, on_one<test_compute>},
    HealthTest{"benchmark", "a matrix product within a time limit, every element checked", 1,
               std::nullopt, kCpuAndCuda, on_one<benchmark_matmul>},
    HealthTest{"selftest", "what a test finds of injected faults", 1, std::nullopt, kEvery,
               self_test},
};

}  // namespace

std::span<const HealthTest> health_tests() { return kTests; }

}  // namespace gpuready
