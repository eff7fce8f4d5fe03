// What the device-aware layer costs on the CPU: the same products through CpuEngine and through
// DeviceEngine, interleaved in one run.
//   bench_ternary_layer [--rounds N]
// Prints the least and the median time of each, and their differences a call. One thread; the shape
// is small, so that the layer's own time is not lost in the product's.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "gpuready/ternary_device.h"

namespace {

using namespace gpuready::ternary;
using Clock = std::chrono::steady_clock;

struct Times {
  std::vector<double> ns;
  double least() const { return *std::min_element(ns.begin(), ns.end()); }
  double median() {
    std::nth_element(ns.begin(), ns.begin() + static_cast<std::ptrdiff_t>(ns.size() / 2), ns.end());
    return ns[ns.size() / 2];
  }
};

template <class Call>
void time_calls(Times& times, int calls, Call&& call) {
  const auto start = Clock::now();
  for (int i = 0; i < calls; ++i)
    if (!call()) std::abort();
  times.ns.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count() /
                     calls);
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 400;
  for (int i = 1; i + 1 < argc; i += 2)
    if (std::strcmp(argv[i], "--rounds") == 0) rounds = std::max(1, std::atoi(argv[i + 1]));
  EngineOptions one_thread;
  one_thread.threads = 1;
  DeviceOptions options;
  options.target = Target{TargetKind::cpu, {}};
  options.cpu = one_thread;
  const auto cpu = CpuEngine::create(one_thread);
  const auto engine = DeviceEngine::create(options);
  if (!cpu || !engine) return 1;
  std::printf("%-22s %12s %12s %12s %12s\n", "ns a call, least", "CpuEngine", "DeviceEngine",
              "layer", "median");
  for (const Shape shape : {Shape{16, 64}, Shape{256, 256}, Shape{2560, 2560}}) {
    Codes codes;
    codes.shape = shape;
    codes.scales = {1.0f};
    codes.values.assign(static_cast<std::size_t>(shape.rows * shape.cols), 1);
    const auto packed = PackedWeights::pack(codes);
    const auto weights = engine->load(*packed);
    const auto rows = Activations::from_int8(
        std::vector<std::int8_t>(static_cast<std::size_t>(shape.cols), 3), 1, shape.cols);
    std::vector<float> out(static_cast<std::size_t>(shape.rows));
    Times plain, layered;
    const int calls =
        static_cast<int>(std::max<std::int64_t>(4, 2'000'000 / (shape.rows * shape.cols + 2000)));
    for (int round = 0; round < rounds; ++round) {
      time_calls(plain, calls, [&] { return cpu->multiply(*packed, *rows, std::span(out)); });
      time_calls(layered, calls, [&] { return engine->multiply(*weights, *rows, std::span(out)); });
    }
    char name[48];
    std::snprintf(name, sizeof name, "%lld x %lld", static_cast<long long>(shape.rows),
                  static_cast<long long>(shape.cols));
    std::printf("%-22s %12.0f %12.0f %12.0f %12.0f\n", name, plain.least(), layered.least(),
                layered.least() - plain.least(), layered.median() - plain.median());
  }
}
