// bench_ternary_gpu: exactness.
#include <cmath>
#include <cstring>
#include <limits>

#include "ternary/device/gpu_backend.h"
#include "ternary/floats.h"
#include "ternary_gpu.h"

namespace gpuready::ternary {
namespace {

struct Checker {
  Backend& gpu;
  CpuEngine cpu;
  std::uint64_t products = 0, results = 0, wrong = 0;

  template <class T>
  void compare(const BackendWeights& loaded, const PackedWeights& packed, const Activations& y,
               const FloatView* values) {
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

// Activations of every type. Of kind 1: halves between codes, subnormals and zeros of both signs,
// values about the least limit, and rows whose greatest is in the last column.
class Values {
 public:
  Values(Bench& b, std::int64_t m, std::int64_t k, int kind)
      : floats_(random_values(b, static_cast<std::size_t>(m * k))),
        halves_(floats_.size()),
        brains_(floats_.size()) {
    for (std::size_t i = 0; i < floats_.size(); ++i) {
      const auto bits = static_cast<std::uint32_t>(b.random());
      halves_[i] = static_cast<std::uint16_t>(bits & 0xBBFF);  // finite
      brains_[i] = halves_[i];
      if (kind == 0) continue;
      const bool last = (i + 1) % static_cast<std::size_t>(k) == 0;
      const float sign = bits & 1 ? -1.0f : 1.0f;
      const auto row = i / static_cast<std::size_t>(k) + static_cast<std::size_t>(k);
      if (row % 3 == 0) {
        floats_[i] = last ? 127.0f : sign * (static_cast<float>(bits >> 8 & 0x7F) - 0.5f);
      } else if (row % 3 == 1) {
        floats_[i] = sign * std::ldexp(static_cast<float>(bits >> 8 & 0xFF), -149);
      } else {
        floats_[i] = sign * std::ldexp(static_cast<float>(bits >> 8 & 0xFF), -24) * 0.7f;
      }
      halves_[i] = f32_to_f16(floats_[i]);
      if (row % 3 == 1) halves_[i] = static_cast<std::uint16_t>(bits & 0x80FF);
      brains_[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(floats_[i]) >> 16);
    }
  }
  void spoil(std::size_t i, bool infinity) {
    floats_[i] = infinity ? -std::numeric_limits<float>::infinity()
                          : std::numeric_limits<float>::quiet_NaN();
    halves_[i] = infinity ? 0xFC00 : 0x7C01;
    brains_[i] = infinity ? 0xFF80 : 0x7F81;
  }
  std::vector<FloatView> views() const {
    return {FloatView(std::span<const float>(floats_)),
            FloatView(FloatType::f16, std::as_bytes(std::span(halves_))),
            FloatView(FloatType::bf16, std::as_bytes(std::span(brains_)))};
  }

 private:
  std::vector<float> floats_;
  std::vector<std::uint16_t> halves_, brains_;
};

void check_rows(Bench& b, Checker& c, const PackedWeights& packed, const BackendWeights* loaded,
                std::int64_t m, int q) {
  const Shape shape = packed.shape();
  std::vector<std::int8_t> codes(static_cast<std::size_t>(m * shape.cols));
  for (auto& code : codes)
    code = static_cast<std::int8_t>(q == 0 ? static_cast<int>(b.random()) : q);
  std::vector<float> steps(static_cast<std::size_t>(m));
  for (auto& s : steps) s = static_cast<float>(b.random() >> 8) * 0x1p-24f;
  const auto y = must(Activations::from_int8(codes, m, shape.cols, steps));
  c.compare<std::int32_t>(*loaded, packed, y, nullptr);
  c.compare<float>(*loaded, packed, y, nullptr);
  c.compare<std::uint16_t>(*loaded, packed, y, nullptr);
  if (q != 0) return;
  for (const int kind : {0, 1}) {
    const Values values(b, m, shape.cols, kind);
    for (const FloatView& view : values.views()) {
      const auto quantised = must(Activations::quantise(view, m, shape.cols));
      c.compare<std::int32_t>(*loaded, packed, quantised, &view);
      c.compare<float>(*loaded, packed, quantised, &view);
    }
  }
}

// A NaN or an infinity is told as the CPU tells it, and nothing is written.
void check_refusals(Bench& b, Checker& c, Shape shape, std::int64_t m) {
  const auto packed = must(PackedWeights::pack(random_codes(b, shape, 2)));
  const auto loaded = must(c.gpu.load(packed));
  for (const bool infinity : {false, true})
    for (const std::int64_t column : {std::int64_t{0}, shape.cols / 2, shape.cols - 1}) {
      Values values(b, m, shape.cols, 0);
      for (std::int64_t twice : {column, shape.cols - 1})
        values.spoil(static_cast<std::size_t>((m - 1) * shape.cols + twice), infinity);
      for (const FloatView& view : values.views()) {
        std::vector<float> out(static_cast<std::size_t>(m * shape.rows), 3.0f);
        const std::string expected =
            fmt::format("activation {} of row {} is NaN or infinite", column, m - 1);
        const auto done = c.gpu.multiply(*loaded, view, m, std::span(out));
        const bool right =
            !done && done.error().message == expected &&
            std::all_of(out.begin(), out.end(), [](float value) { return value == 3.0f; });
        ++c.products;
        c.wrong += !right;
        if (!right)
          fmt::print("WRONG: column {} of {} x {}, M {}: {}\n", column, shape.rows, shape.cols, m,
                     done ? "no error" : done.error().message);
      }
    }
}

void check_shape(Bench& b, Checker& c, Shape shape, std::initializer_list<std::int64_t> rows,
                 int kind = 2, int q = 0) {
  const auto packed = must(PackedWeights::pack(random_codes(b, shape, kind)));
  const auto loaded = must(c.gpu.load(packed));
  for (const std::int64_t m : rows) check_rows(b, c, packed, loaded.get(), m, q);
}

bool check_weights_quantiser(Bench& b, Backend& gpu) {
  std::uint64_t wrong = 0;
  for (const Shape shape : {Shape{1, 128}, Shape{3, 384}, Shape{1000, 2560}}) {
    const auto count = static_cast<std::size_t>(shape.rows * shape.cols);
    auto values = random_values(b, count);
    for (std::size_t i = 0; i < count; i += 7)  // about the threshold, and subnormals
      values[i] = std::ldexp(static_cast<float>(static_cast<int>(b.random() % 41) - 20), -24) *
                  (i % 2 == 0 ? 1.0f : 1e-37f);
    std::vector<std::uint16_t> halves(count);
    for (auto& h : halves) h = static_cast<std::uint16_t>(b.random() & 0xBBFF);
    for (const FloatView& view : {FloatView(std::span<const float>(values)),
                                  FloatView(FloatType::f16, std::as_bytes(std::span(halves))),
                                  FloatView(FloatType::bf16, std::as_bytes(std::span(halves)))})
      for (const FormatId to : {FormatId::i2s_x86, FormatId::i2s_arm})
        for (const Rule rule : {Rule::of_format, Rule::absmean})
          wrong += must(quantise(view, shape, to, {rule, {}})).bytes !=
                   must(gpu.quantise(view, shape, to, {rule, {}})).bytes;
  }
  std::vector<float> bad(256, 1.0f);
  bad[130] = std::numeric_limits<float>::quiet_NaN();
  const auto refused = gpu.quantise(std::span<const float>(bad), {2, 128}, FormatId::i2s_x86, {});
  wrong += refused.has_value() || refused.error().message.find("130") == std::string::npos;
  fmt::print("weights quantised on the GPU: {}\n", wrong == 0 ? "the CPU's bytes" : "WRONG");
  return wrong == 0;
}

}  // namespace

bool check_gpu(Bench& b, const std::string& uuid) {
  const auto gpu = must(make_cuda_backend(uuid));
  Checker c{*gpu, must(CpuEngine::create())};
  for (std::int64_t k = 1; k <= 520; k += k < 140 ? 1 : 19)
    check_shape(b, c, {1 + k % 37, k}, {1 + k % 5});
  for (std::int64_t n = 1; n <= 50; ++n) check_shape(b, c, {n, 200 + n}, {1});
  for (std::int64_t m = 1; m <= 20; ++m) check_shape(b, c, {70, 1111}, {m});
  for (const int weight : {-1, 1})
    for (const int q : {-128, 127})
      for (const std::int64_t k : {4096, 32768, 100000, 1 << 22})
        check_shape(b, c, {18, k}, {1, 2, 3}, weight, q);
  for (const Shape s : kShapes)
    if (s.rows * s.cols < 100'000'000) check_shape(b, c, s, {1, 2, 4});
  check_shape(b, c, {2560, 32768}, {1});
  for (const std::int64_t k : {1, 130, 700, 2049, 12345})
    check_shape(b, c, {6400 + k % 97, k}, {1, 3, 9, 17});
  check_shape(b, c, {55296, 5120}, {1});
  for (const std::int64_t m : {1, 2, 4, 9})
    for (const Shape shape : {Shape{1, 1}, {17, 129}, {3000, 5000}, {40, 30000}})
      check_refusals(b, c, shape, m);
  for (const std::int64_t rows : {1, 3, 9, 40, 512})
    for (const std::int64_t size : {2560, 3217, 8192}) {
      const ChainCheck done = check_chain(b, c.cpu, size, rows);
      c.products += done.products, c.results += done.results, c.wrong += done.wrong;
    }
  fmt::print("checked: {} products, {} results, {} differ from the CPU's ({})\n", c.products,
             c.results, c.wrong, to_string(c.cpu.tier()));
  return c.wrong == 0 && check_weights_quantiser(b, *gpu);
}

}  // namespace gpuready::ternary
