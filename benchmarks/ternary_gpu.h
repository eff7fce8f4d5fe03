// What the parts of bench_ternary_gpu share.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "ternary/device/gpu_engine.h"
#include "ternary_common.h"

namespace gpuready::ternary {

// The ten of bitnet.cpp's GPU kernel, and others.
inline const Shape kShapes[] = {{2560, 2560},  {3840, 2560},  {13824, 2560}, {2560, 6912},
                                {3200, 3200},  {4800, 3200},  {20480, 3200}, {3200, 10240},
                                {5120, 27648}, {55296, 5120}, {8192, 8192},  {28672, 8192},
                                {8192, 28672}, {65536, 8192}};

struct Bench {
  Device& device;
  GpuEngine engine;
  StreamId stream;
  std::mt19937 random{1};
  int samples = 9;
  double read_gbps = 0;

  // Microseconds of one of the `count` calls that `record` makes.
  double time_us(unsigned count, const std::function<void()>& record) {
    must(device.begin_capture(stream));
    record();
    const GraphId graph = must(device.end_capture(stream));
    auto timer = must(StreamTimer::make(device, stream));
    must(device.launch_graph(stream, graph));
    must(device.synchronize(stream));
    must(timer.start());
    must(device.launch_graph(stream, graph));
    const double once_ms = must(timer.stop_ms());
    const int replays = std::clamp(static_cast<int>(2 / once_ms), 1, 100);
    std::vector<double> times;
    for (int i = 0; i < samples; ++i) {
      must(timer.start());
      for (int r = 0; r < replays; ++r) must(device.launch_graph(stream, graph));
      times.push_back(must(timer.stop_ms()) * 1e3 / (replays * static_cast<double>(count)));
    }
    must(device.destroy_graph(graph));
    return median(times);
  }
};

inline std::vector<float> random_values(Bench& b, std::size_t count) {
  std::vector<float> values(count);
  for (auto& x : values) x = static_cast<float>(static_cast<std::int32_t>(b.random())) * 0x1p-28f;
  return values;
}

// All rows -1, 0 or 1 when `kind` says so, 2: any; with any scales.
Codes random_codes(Bench& b, Shape shape, int kind);

// A chain of products, in a graph that is launched three times.
struct ChainCheck {
  std::uint64_t products = 0, results = 0, wrong = 0;
};
ChainCheck check_chain(Bench& b, CpuEngine& cpu, std::int64_t size, std::int64_t rows);

// Every result bit for bit against the CPU's.
bool check_gpu(Bench& b, const std::string& uuid);

void measure_read(Bench& b);
// Of `rows` rows of activations; in every way in which it can be laid over the GPU, with
// `variants`.
void time_shape(Bench& b, Shape shape, std::int64_t rows, bool variants);
void time_quantisers(Bench& b);

}  // namespace gpuready::ternary
