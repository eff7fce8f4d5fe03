// Products with ternary weights on an NVIDIA GPU: first every result is checked bit for bit against
// the CPU, then times are told by graph replay against the read bandwidth measured in the same run.
//   bench_ternary_gpu [cuda:GPU-...] [--check-only] [--variants] [--only NxK] [--samples N]
// "cold" rotates within the graph over copies of the weights of at least four times the L2 cache;
// "warm" takes one copy again and again. A time is the median of samples of whole replays divided
// by their products.
#include <cstdlib>
#include <string>

#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_identity.h"
#include "ternary_gpu.h"

namespace t = gpuready::ternary;
using namespace gpuready;

int main(int argc, char** argv) {
  std::string uuid, only;
  bool check_only = false, variants = false;
  int samples = 9;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--check-only")
      check_only = true;
    else if (argument == "--variants")
      variants = true;
    else if (argument == "--only" && i + 1 < argc)
      only = argv[++i];
    else if (argument == "--samples" && i + 1 < argc)
      samples = std::atoi(argv[++i]);
    else
      uuid = argument.substr(argument.find(':') + 1);
  }
  if (uuid.empty()) {
    const auto identities = must(list_cuda_identities(*must(CudaDriver::start())));
    if (identities.empty()) return fmt::print(stderr, "no CUDA device\n"), 1;
    uuid = identities[0].uuid;
  }
  const auto device = must(open_cuda_device(uuid));
  t::Bench bench{*device, must(t::GpuEngine::create(*device)), must(device->create_stream())};
  bench.samples = samples;
  fmt::print("{}, compute capability {}, {} SMs, L2 {} MiB\n", device->info().name,
             device->info().compute_capability.value_or(0), device->info().units,
             device->info().l2_cache_bytes.value_or(0) >> 20);
  if (!t::check_gpu(bench, uuid)) return 1;
  if (check_only) return 0;
  t::measure_read(bench);
  for (const t::Shape s : t::kShapes)
    if (only.empty() || only == fmt::format("{}x{}", s.rows, s.cols))
      t::time_shape(bench, s, 1, variants);
  for (const std::int64_t m : {2, 8, 16})
    for (const t::Shape s : {t::Shape{13824, 2560}, {28672, 8192}})
      if (only.empty()) t::time_shape(bench, s, m, variants);
  if (only.empty()) t::time_quantisers(bench);
  return 0;
}
