// Products with ternary weights on an NVIDIA GPU: first every result is checked bit for bit against
// the CPU, then times are told by graph replay against the read bandwidth measured in the same run.
//   bench_ternary_gpu [cuda:GPU-...] [--check-only] [--variants] [--only NxK] [--samples N]
// "cold" rotates within the graph over copies of the weights of at least four times the L2 cache;
// "warm" takes one copy again and again. A time is the median of samples of whole replays divided
// by their products.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/units.h"
#include "device/cuda_device.h"
#include "device/cuda_identity.h"
#include "ternary_device/gemv_plan.h"
#include "ternary_device/gpu_backend.h"
#include "ternary_device/gpu_engine.h"

GPUREADY_EMBEDDED(gpuready_ptx_ternary_read_sm_50)
GPUREADY_EMBEDDED(gpuready_ptx_ternary_read_sm_80)

namespace {

using namespace gpuready;
namespace t = gpuready::ternary;

const KernelImage kReadImages[] = {
    {gpuready_ptx_ternary_read_sm_50_begin, gpuready_ptx_ternary_read_sm_50_end, 50, false},
    {gpuready_ptx_ternary_read_sm_80_begin, gpuready_ptx_ternary_read_sm_80_end, 80, false}};
const Kernel kRead{"gpuready_ternary_read", kReadImages};

template <class R>
auto must(R result) {
  if (!result) {
    fmt::print(stderr, "{}\n", result.error().message);
    std::exit(1);
  }
  if constexpr (!std::is_void_v<typename R::value_type>) return std::move(*result);
}

struct Shape {
  std::int64_t n, k;
};
// The ten of bitnet.cpp's GPU kernel, and others.
const Shape kShapes[] = {{2560, 2560}, {3840, 2560},  {13824, 2560}, {2560, 6912},  {3200, 3200},
                         {4800, 3200}, {20480, 3200}, {3200, 10240}, {5120, 27648}, {55296, 5120},
                         {8192, 8192}, {28672, 8192}, {8192, 28672}, {65536, 8192}};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

struct Bench {
  Device& device;
  t::GpuEngine engine;
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

void measure_read(Bench& b) {
  const std::uint64_t bytes = 4 * GiB;
  const auto memory = must(DeviceBuffer::make(b.device, bytes));
  const std::uint64_t params[] = {memory.address(), bytes, memory.address()};
  must(b.device.prepare(kRead));
  for (const unsigned per_unit : {2u, 4u, 8u, 32u}) {
    const double us = b.time_us(1, [&] {
      must(b.device.launch(b.stream, kRead,
                           {.blocks = b.device.info().units * per_unit, .threads = 256}, params,
                           sizeof params));
    });
    b.read_gbps = std::max(b.read_gbps, static_cast<double>(bytes) / us / 1e3);
  }
  fmt::print("read bandwidth: {:.0f} GB/s\n", b.read_gbps);
}

std::vector<float> random_values(Bench& b, std::size_t count) {
  std::vector<float> values(count);
  for (auto& x : values) x = static_cast<float>(static_cast<std::int32_t>(b.random())) * 0x1p-28f;
  return values;
}
t::Codes random_codes(Bench& b, t::Shape shape, int kind) {
  t::Codes codes;
  codes.shape = shape;
  codes.values.resize(static_cast<std::size_t>(shape.rows * shape.cols));
  for (auto& c : codes.values)
    c = static_cast<std::int8_t>(kind <= 1 ? kind
                                           : static_cast<int>((b.random() & 0xFFFF) * 3 >> 16) - 1);
  codes.scale_block = shape.cols;
  for (std::int64_t row = 0; row < shape.rows; ++row)
    codes.scales.push_back(static_cast<float>(b.random() >> 8) * 0x1p-20f + 1e-3f);
  return codes;
}

// ---- Exactness
// ------------------------------------------------------------------------------------

struct Checker {
  t::Backend& gpu;
  t::CpuEngine cpu;
  std::uint64_t products = 0, results = 0, wrong = 0;

  template <class T>
  void compare(const t::BackendWeights& loaded, const t::PackedWeights& packed,
               const t::Activations& y, const t::FloatView* values) {
    const auto rows = y.rows();
    std::vector<T> expected(static_cast<std::size_t>(rows * packed.shape().rows));
    std::vector<T> actual(expected.size());
    std::memset(actual.data(), 0xAB, actual.size() * sizeof(T));
    if constexpr (sizeof(T) == 2)
      must(cpu.multiply_bf16(packed, y, expected));
    else
      must(cpu.multiply(packed, y, expected));
    if (values)
      must(gpu.multiply(loaded, *values, rows, std::span<T>(actual)));
    else
      must(gpu.multiply(loaded, y, std::span<T>(actual)));
    ++products;
    results += expected.size();
    std::uint64_t differ = 0;
    for (std::size_t i = 0; i < expected.size(); ++i)
      differ += std::memcmp(&expected[i], &actual[i], sizeof(T)) != 0;
    if (differ != 0)
      fmt::print("WRONG: {} of {} results, {} x {}, M {}, {}-byte output, {} ({})\n", differ,
                 expected.size(), packed.shape().rows, packed.shape().cols, rows, sizeof(T),
                 gpu.kernel_for(packed.shape(), rows), values ? "values" : "codes");
    wrong += differ;
  }
};

void check_rows(Bench& b, Checker& c, const t::PackedWeights& packed,
                const t::BackendWeights* loaded, std::int64_t m, int q) {
  const t::Shape shape = packed.shape();
  std::vector<std::int8_t> codes(static_cast<std::size_t>(m * shape.cols));
  for (auto& code : codes)
    code = static_cast<std::int8_t>(q == 0 ? static_cast<int>(b.random()) : q);
  std::vector<float> steps(static_cast<std::size_t>(m));
  for (auto& s : steps) s = static_cast<float>(b.random() >> 8) * 0x1p-24f;
  const auto y = must(t::Activations::from_int8(codes, m, shape.cols, steps));
  c.compare<std::int32_t>(*loaded, packed, y, nullptr);
  c.compare<float>(*loaded, packed, y, nullptr);
  c.compare<std::uint16_t>(*loaded, packed, y, nullptr);
  if (q != 0) return;
  const auto values = random_values(b, codes.size());
  std::vector<std::uint16_t> halves(codes.size());
  for (auto& h : halves) h = static_cast<std::uint16_t>(b.random() & 0xBBFF);  // finite in both
  for (const t::FloatView& view :
       {t::FloatView(std::span<const float>(values)),
        t::FloatView(t::FloatType::f16, std::as_bytes(std::span(halves))),
        t::FloatView(t::FloatType::bf16, std::as_bytes(std::span(halves)))}) {
    const auto quantised = must(t::Activations::quantise(view, m, shape.cols));
    c.compare<std::int32_t>(*loaded, packed, quantised, &view);
    c.compare<float>(*loaded, packed, quantised, &view);
  }
}

void check_shape(Bench& b, Checker& c, t::Shape shape, std::initializer_list<std::int64_t> rows,
                 int kind = 2, int q = 0) {
  const auto packed = must(t::PackedWeights::pack(random_codes(b, shape, kind)));
  const auto loaded = must(c.gpu.load(packed));
  for (const std::int64_t m : rows) check_rows(b, c, packed, loaded.get(), m, q);
}

bool check_weights_quantiser(Bench& b, t::Backend& gpu) {
  std::uint64_t wrong = 0;
  for (const t::Shape shape : {t::Shape{1, 128}, t::Shape{3, 384}, t::Shape{1000, 2560}}) {
    const auto count = static_cast<std::size_t>(shape.rows * shape.cols);
    auto values = random_values(b, count);
    for (std::size_t i = 0; i < count; i += 7)  // about the threshold, and subnormals
      values[i] = std::ldexp(static_cast<float>(static_cast<int>(b.random() % 41) - 20), -24) *
                  (i % 2 == 0 ? 1.0f : 1e-37f);
    std::vector<std::uint16_t> halves(count);
    for (auto& h : halves) h = static_cast<std::uint16_t>(b.random() & 0xBBFF);
    for (const t::FloatView& view :
         {t::FloatView(std::span<const float>(values)),
          t::FloatView(t::FloatType::f16, std::as_bytes(std::span(halves))),
          t::FloatView(t::FloatType::bf16, std::as_bytes(std::span(halves)))})
      for (const t::FormatId to : {t::FormatId::i2s_x86, t::FormatId::i2s_arm})
        for (const t::Rule rule : {t::Rule::of_format, t::Rule::absmean})
          wrong += must(t::quantise(view, shape, to, {rule, {}})).bytes !=
                   must(gpu.quantise(view, shape, to, {rule, {}})).bytes;
  }
  std::vector<float> bad(256, 1.0f);
  bad[130] = std::numeric_limits<float>::quiet_NaN();
  const auto refused =
      gpu.quantise(std::span<const float>(bad), {2, 128}, t::FormatId::i2s_x86, {});
  wrong += refused.has_value() || refused.error().message.find("130") == std::string::npos;
  fmt::print("weights quantised on the GPU: {}\n", wrong == 0 ? "the CPU's bytes" : "WRONG");
  return wrong == 0;
}

bool check(Bench& b, const std::string& uuid) {
  const auto gpu = must(t::make_cuda_backend(uuid));
  Checker c{*gpu, must(t::CpuEngine::create())};
  for (std::int64_t k = 1; k <= 520; k += k < 140 ? 1 : 19)
    check_shape(b, c, {1 + k % 37, k}, {1 + k % 5});
  for (std::int64_t n = 1; n <= 50; ++n) check_shape(b, c, {n, 200 + n}, {1});
  for (std::int64_t m = 1; m <= 20; ++m) check_shape(b, c, {70, 1111}, {m});
  for (const int weight : {-1, 1})
    for (const int q : {-128, 127})
      for (const std::int64_t k : {4096, 32768, 100000, 1 << 22})
        check_shape(b, c, {18, k}, {1, 2, 3}, weight, q);
  for (const Shape s : kShapes)
    if (s.n * s.k < 100'000'000) check_shape(b, c, {s.n, s.k}, {1, 2, 4});
  check_shape(b, c, {2560, 32768}, {1});
  for (const std::int64_t k : {1, 130, 700, 2049, 12345})
    check_shape(b, c, {6400 + k % 97, k}, {1, 3, 9, 17});
  check_shape(b, c, {55296, 5120}, {1});
  fmt::print("checked: {} products, {} results, {} differ from the CPU's ({})\n", c.products,
             c.results, c.wrong, t::to_string(c.cpu.tier()));
  return c.wrong == 0 && check_weights_quantiser(b, *gpu);
}

// ---- Times
// ----------------------------------------------------------------------------------------

struct Copies {
  DeviceBuffer memory, scales, out;
  t::GpuActivations activations;
  DeviceBuffer values;
  std::vector<t::GpuWeightsView> views;
};

Copies make_copies(Bench& b, Shape s, std::int64_t m) {
  t::GpuWeightsView view;
  view.shape = {s.n, s.k};
  view.row_tiles =
      static_cast<std::uint32_t>(t::tiles_of(static_cast<std::uint64_t>(s.n), t::kTileRows));
  view.col_tiles =
      static_cast<std::uint32_t>(t::tiles_of(static_cast<std::uint64_t>(s.k), t::kTileCols));
  const std::uint64_t bytes = std::uint64_t{view.row_tiles} * view.col_tiles * t::kTileBytes;
  const std::uint64_t wanted = 4 * b.device.info().l2_cache_bytes.value_or(64 * MiB);
  const std::uint64_t count = std::max<std::uint64_t>((wanted + bytes - 1) / bytes, 2);
  const auto n = static_cast<std::uint64_t>(s.n), rows = static_cast<std::uint64_t>(m);
  Copies copies{must(DeviceBuffer::make(b.device, count * bytes)),
                must(DeviceBuffer::make(b.device, n * 4)),
                must(DeviceBuffer::make(b.device, n * rows * 4)),
                must(b.engine.allocate_activations(m, s.k)),
                must(DeviceBuffer::make(b.device, rows * static_cast<std::uint64_t>(s.k) * 4)),
                {}};
  // Any codes of 0, 1 and 2 will do.
  std::vector<std::uint8_t> tiles(bytes);
  for (auto& four : tiles) {
    four = static_cast<std::uint8_t>(b.random());
    four = static_cast<std::uint8_t>(four & ~(four >> 1 & 0x55));
  }
  const std::vector<float> scales(n, 0.01f);
  must(b.device.copy_to_device(b.stream, copies.scales.address(), scales.data(), n * 4));
  for (std::uint64_t i = 0; i < count; ++i) {
    t::GpuWeightsView copy = view;
    copy.tiles = copies.memory.address() + i * bytes;
    copy.scales = copies.scales.address();
    if (i == 0)
      must(b.device.copy_to_device(b.stream, copy.tiles, tiles.data(), bytes));
    else
      must(b.device.copy_on_device(b.stream, copy.tiles, copies.memory.address(), bytes));
    copies.views.push_back(copy);
  }
  const auto values = random_values(b, rows * static_cast<std::size_t>(s.k));
  must(
      b.device.copy_to_device(b.stream, copies.values.address(), values.data(), values.size() * 4));
  must(
      b.engine.quantise(b.stream, copies.values.range(), t::FloatType::f32, m, copies.activations));
  must(b.device.synchronize(b.stream));
  must(b.engine.prepare({s.n, s.k}, m));
  return copies;
}

struct Times {
  double cold_us, warm_us, whole_us;
};

Times time_gemv(Bench& b, Shape s, Copies& c, std::int64_t m, const t::GemvPlan& plan, bool whole) {
  const auto call = [&](const t::GpuWeightsView& weights) {
    must(t::run_gemv(
        {b.device,
         b.stream,
         weights,
         c.activations.view(),
         m,
         {t::OutputType::f32, {c.out.address(), 4ull * static_cast<std::uint64_t>(s.n * m)}},
         {}},
        plan));
  };
  must(b.device.resident_blocks(*plan.kernel, plan.shape.threads, plan.shape.shared_bytes));
  const auto count = static_cast<unsigned>(c.views.size());
  Times times{};
  times.cold_us = b.time_us(count, [&] {
    for (const auto& view : c.views) call(view);
  });
  times.warm_us = b.time_us(count, [&] {
    for (unsigned i = 0; i < count; ++i) call(c.views[0]);
  });
  if (whole)
    times.whole_us = b.time_us(count, [&] {
      for (const auto& view : c.views) {
        must(b.engine.quantise(b.stream, c.values.range(), t::FloatType::f32, m, c.activations));
        call(view);
      }
    });
  return times;
}

void time_shape(Bench& b, Shape s, std::int64_t m, bool variants) {
  Copies copies = make_copies(b, s, m);
  const double bytes =
      static_cast<double>(copies.memory.bytes()) / static_cast<double>(copies.views.size());
  const auto share = [&](double us) { return bytes / us / 1e3 / b.read_gbps * 100; };
  const auto& info = b.device.info();
  const t::GemvPlan chosen = t::gemv_plan(info, {s.n, s.k}, m);
  const Times times = time_gemv(b, s, copies, m, chosen, true);
  fmt::print(
      "{:>6} x {:>5} M {} {:>6.1f} MB {:>3} copies | cold {:>7.2f} us {:>5.1f}% | warm {:>7.2f} us "
      "| with quantising {:>7.2f} us | {} of {}\n",
      s.n, s.k, m, bytes / 1e6, copies.views.size(), times.cold_us, share(times.cold_us),
      times.warm_us, times.whole_us, chosen.kernel->name.substr(17), chosen.slices);
  if (!variants) return;
  for (const unsigned slices : {t::kStream, 1u, 2u, 4u, 8u})
    for (const bool overlaps : {true, false}) {
      t::GemvPlan plan = t::gemv_plan(info, {s.n, s.k}, m, slices);
      plan.shape.overlaps = overlaps;
      const Times v = time_gemv(b, s, copies, m, plan, false);
      fmt::print("      {} of {} {:<10} cold {:>7.2f} us {:>5.1f}%  warm {:>7.2f} us\n",
                 plan.kernel->name.substr(17), plan.slices, overlaps ? "overlapping" : "one by one",
                 v.cold_us, share(v.cold_us), v.warm_us);
    }
  std::fflush(stdout);
}

void time_quantisers(Bench& b) {
  const auto weights = static_cast<std::int64_t>(512 * MiB);  // 2 GiB of f32
  const t::Shape shape{weights / 8192, 8192};
  const auto size = must(t::encoded_bytes(t::FormatId::i2s_x86, shape));
  const auto values = must(DeviceBuffer::make(b.device, static_cast<std::uint64_t>(weights) * 4));
  const auto out = must(DeviceBuffer::make(b.device, size));
  const auto bad = must(DeviceBuffer::make(b.device, 8));
  for (const auto& [type, bytes, name] : {std::tuple{t::FloatType::f32, 4, "f32"},
                                          {t::FloatType::f16, 2, "f16"},
                                          {t::FloatType::bf16, 2, "bf16"}}) {
    const auto in = static_cast<std::uint64_t>(weights) * static_cast<std::uint64_t>(bytes);
    for (const t::Rule rule : {t::Rule::of_format, t::Rule::absmean}) {
      const bool absmean = rule == t::Rule::absmean;
      const auto quantise = [&] {
        must(b.engine.quantise_weights(b.stream, {values.address(), in}, type, shape,
                                       t::FormatId::i2s_x86, {out.address(), size},
                                       {bad.address(), 8}, rule));
      };
      quantise();
      const double us = b.time_us(1, quantise);
      const double gbps = static_cast<double>((absmean ? 2 : 1) * in + size) / us / 1e3;
      fmt::print(
          "{} to i2_s-x86, {}: {:.0f} GB/s of reading and writing, {:.1f}% of the read bandwidth\n",
          name, absmean ? "absmean" : "sign rule", gbps, gbps / b.read_gbps * 100);
    }
  }
}

}  // namespace

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
  Bench bench{*device, must(t::GpuEngine::create(*device)), must(device->create_stream())};
  bench.samples = samples;
  fmt::print("{}, compute capability {}, {} SMs, L2 {} MiB\n", device->info().name,
             device->info().compute_capability.value_or(0), device->info().units,
             device->info().l2_cache_bytes.value_or(0) >> 20);
  if (!check(bench, uuid)) return 1;
  if (check_only) return 0;
  measure_read(bench);
  for (const Shape s : kShapes)
    if (only.empty() || only == fmt::format("{}x{}", s.n, s.k)) time_shape(bench, s, 1, variants);
  for (const std::int64_t m : {2, 8, 16})
    for (const Shape s : {Shape{13824, 2560}, {28672, 8192}})
      if (only.empty()) time_shape(bench, s, m, variants);
  if (only.empty()) time_quantisers(bench);
  return 0;
}
