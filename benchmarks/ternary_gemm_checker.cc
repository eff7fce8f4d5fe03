#include "ternary_gemm_checker.h"

#include <cstring>

#include "ternary/device/gpu_layout.h"

namespace gpuready::ternary {
namespace {

Activations activations(Problem p, GemmInput type, const std::vector<std::byte>& bytes,
                        std::span<const float> steps) {
  if (type == kGemmInt8) {
    return *Activations::from_int8(
        {reinterpret_cast<const std::int8_t*>(bytes.data()), bytes.size()}, p.m, p.k, steps);
  }
  return *Activations::quantise({float_type(type), bytes}, p.m, p.k);
}

}  // namespace

FloatType float_type(GemmInput type) {
  return type == kGemmF32 ? FloatType::f32 : type == kGemmF16 ? FloatType::f16 : FloatType::bf16;
}

std::int8_t Checker::weight(Fill fill) {
  if (fill == Fill::random) return static_cast<std::int8_t>(static_cast<int>(random() % 3) - 1);
  return fill == Fill::greatest ? 1 : -1;
}

std::vector<Checker::Input> Checker::inputs(const Case& c) {
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
            static_cast<float>(static_cast<std::int64_t>(r >> 20 & 0xffffff) - 0x800000) * 1.1e-6f;
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

std::vector<std::byte> Checker::expected(const PackedWeights& weights, const Activations& y,
                                         OutputType type) {
  const auto count = static_cast<std::size_t>(y.rows() * weights.shape().rows);
  std::vector<std::byte> out(count * (type == OutputType::bf16 ? 2 : 4));
  const auto as = [&]<class T>(T) { return std::span(reinterpret_cast<T*>(out.data()), count); };
  const auto done = type == OutputType::int32 ? engine.multiply(weights, y, as(std::int32_t{}))
                    : type == OutputType::f32
                        ? engine.multiply(weights, y, as(float{}))
                        : engine.multiply_bf16(weights, y, as(std::uint16_t{}));
  if (!done) {
    fmt::print(stderr, "{}\n", done.error().message);
    std::exit(2);
  }
  return out;
}

void Checker::run(const Case& c, const std::vector<GemmPlan>& plans) {
  Codes codes{{c.p.n, c.p.k}, {}, c.p.k, {}};
  codes.values.resize(static_cast<std::size_t>(c.p.n * c.p.k));
  for (auto& w : codes.values) w = weight(c.fill);
  for (std::int64_t n = 0; n < c.p.n; ++n)
    codes.scales.push_back(0.01f * static_cast<float>(random() % 1000 + 1));
  const PackedWeights packed = *PackedWeights::pack(codes);
  std::vector<float> steps(static_cast<std::size_t>(c.p.m));
  for (float& s : steps) s = 1e-4f * static_cast<float>(random() % 9999 + 1);

  Buffers buffers(device);
  const GpuWeightsView weights{.tiles = buffers.put(gpu_tiles(codes.values, codes.shape)),
                               .scales = buffers.put(codes.scales),
                               .shape = codes.shape};
  const GpuActivationsView rows = make_rows(buffers, c.p.m, c.p.k);
  std::uint64_t workspace_bytes = 0;
  for (const GemmPlan& plan : plans)
    workspace_bytes = std::max(workspace_bytes, plan.workspace_bytes);
  // What was there before must not matter.
  const DeviceAddress workspace =
      buffers.put(std::vector<std::uint8_t>(workspace_bytes, std::uint8_t{0xA5}));
  const auto count = static_cast<std::size_t>(c.p.m * c.p.n);
  for (const Input& input : inputs(c)) {
    const Activations y = activations(c.p, input.type, input.bytes, steps);
    const DeviceAddress values = buffers.put(input.bytes);
    poison(rows);
    bool told = false;
    for (const OutputType type : {OutputType::int32, OutputType::f32, OutputType::bf16}) {
      const auto right = expected(packed, y, type);
      const DeviceAddress out = buffers.make(count * 4);
      for (const GemmPlan& plan : plans) {
        const std::vector<std::byte> poison(right.size(), std::byte{0xEE});
        must(device.copy_to_device({}, out, poison.data(), poison.size()));
        if (input.type == kGemmInt8) {
          put_codes(rows, y);
          must(enqueue_gemm_tiles(device, {}, c.p.m, rows));
        } else {
          must(enqueue_gemm_quantise(device, {}, values, float_type(input.type), c.p.m, rows));
        }
        must(enqueue_gemm_product(device, {}, plan, weights, rows, workspace, {type, {out, 0}}));
        std::vector<std::byte> actual(right.size());
        must(device.copy_to_host({}, actual.data(), out, actual.size()));
        must(device.synchronize({}));
        if (!told && input.type != kGemmInt8) check_rows(c, rows, y);
        told = true;
        compare(c, plan, input.type, type, actual, right);
      }
    }
  }
}

void Checker::compare(const Case& c, const GemmPlan& plan, GemmInput input, OutputType type,
                      const std::vector<std::byte>& actual, const std::vector<std::byte>& right) {
  ++compared;
  if (actual == right) return;
  if (++wrong > 20) return;
  const std::size_t size = type == OutputType::bf16 ? 2 : 4, count = right.size() / size;
  const auto n = static_cast<std::size_t>(c.p.n);
  std::size_t first = count, differ = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (std::memcmp(actual.data() + i * size, right.data() + i * size, size) == 0) continue;
    first = std::min(first, i);
    ++differ;
  }
  std::uint32_t a = 0, b = 0;
  std::memcpy(&a, actual.data() + first * size, size);
  std::memcpy(&b, right.data() + first * size, size);
  fmt::print(
      "WRONG {}x{}x{} fill {} input {} output {}: {} tile {}x{} split {} blocks {}: {} of {} "
      "differ, first ({}, {}): {:#x}, not {:#x}\n",
      c.p.m, c.p.n, c.p.k, static_cast<int>(c.fill), static_cast<int>(input),
      static_cast<int>(type), to_string(plan.kernel), plan.tile.features, plan.tile.tokens,
      plan.split_tiles, plan.blocks, differ, count, first / n, first % n, a, b);
}

// The rows' facts, and the codes that vectors take, must be those of the CPU.
void Checker::check_rows(const Case& c, const GpuActivationsView& view, const Activations& y) {
  std::vector<GpuActivationRow> facts(static_cast<std::size_t>(c.p.m));
  std::vector<std::int8_t> codes(static_cast<std::size_t>(std::min(c.p.m, kMatrixRows)) *
                                 view.stride);
  must(device.copy_to_host({}, facts.data(), view.rows, facts.size() * sizeof facts[0]));
  must(device.copy_to_host({}, codes.data(), view.codes, codes.size()));
  must(device.synchronize({}));
  bool same = true;
  for (std::size_t m = 0; m < facts.size(); ++m) {
    same &= facts[m].step == y.steps()[m] && facts[m].sum == y.sums()[m] &&
            facts[m].bad_column == kNoColumn;
    if (m * view.stride >= codes.size()) continue;
    const auto row = y.row(static_cast<std::int64_t>(m));
    same &= std::equal(row.begin(), row.end(), codes.begin() + m * view.stride);
  }
  ++compared;
  if (!same) ++wrong, fmt::print("WRONG rows of {}x{}\n", c.p.m, c.p.k);
}

void Checker::put_codes(const GpuActivationsView& view, const Activations& y) {
  const auto rows = static_cast<std::size_t>(y.rows());
  std::vector<std::int8_t> codes(rows * view.stride);
  std::vector<GpuActivationRow> facts(rows);
  for (std::size_t m = 0; m < rows; ++m) {
    const auto row = y.row(static_cast<std::int64_t>(m));
    std::copy(row.begin(), row.end(), codes.begin() + m * view.stride);
    facts[m] = {y.steps()[m], y.sums()[m], kNoColumn, 0};
  }
  must(device.copy_to_device({}, view.codes, codes.data(), codes.size()));
  must(device.copy_to_device({}, view.rows, facts.data(), facts.size() * sizeof facts[0]));
  must(device.synchronize({}));
}

void Checker::poison(const GpuActivationsView& view) {
  const std::vector<std::byte> bytes(gemm_tiles_bytes(view.capacity_rows, view.cols),
                                     std::byte{0x77});
  must(device.copy_to_device({}, view.tiles, bytes.data(), bytes.size()));
  must(device.copy_to_device({}, view.rows, bytes.data(),
                             static_cast<std::uint64_t>(view.capacity_rows) * 16));
  must(device.synchronize({}));
}

}  // namespace gpuready::ternary
