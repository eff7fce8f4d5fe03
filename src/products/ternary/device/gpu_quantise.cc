// The engine's quantising: activations, and weights.
#include "ternary/device/gpu_quantise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernel_abi/ternary_weights.h"
#include "kernels/ternary_kernels.h"
#include "ternary/device/gpu_engine.h"
#include "ternary/device/gpu_gemm.h"
#include "ternary/floats.h"
#include "ternary/shape.h"

namespace gpuready::ternary {
namespace {

// Blocks of 256 threads that keep an SM's memory pipeline full, and this many that an SM which is
// behind the others has few left to do.
constexpr unsigned kSignBlocksPerUnit = 4, kManySignBlocksPerUnit = 32;

Result<void> told(const Device& device, const Result<void>& done) {
  if (!done) return std::unexpected(device_error(device, done.error()));
  return {};
}

Result<void> check_rows(const GpuActivations& target, std::int64_t rows) {
  if (rows >= 1 && rows <= target.capacity_rows()) return {};
  return fail(ErrorKind::wrong_size, std::to_string(rows) +
                                         " rows of activations are not in room for " +
                                         std::to_string(target.capacity_rows()));
}

}  // namespace

Result<void> check_values(AddressRange values, FloatType type, std::int64_t rows,
                          const GpuActivations& target) {
  TRY(check_rows(target, rows));
  const GpuActivationsView& view = target.view();
  const std::uint64_t bytes =
      static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(view.cols) * bytes_of(type);
  if (values.bytes != bytes)
    return fail(ErrorKind::wrong_size, std::to_string(rows) + " rows of " +
                                           std::to_string(view.cols) + " activations need " +
                                           std::to_string(bytes) + " bytes, not " +
                                           std::to_string(values.bytes));
  // Vulkan's kernel reads whole words.
  if (values.address % 4 != 0)
    return fail(ErrorKind::wrong_size, "the activations' place is not aligned to 4 bytes");
  return {};
}

Result<void> GpuEngine::quantise(StreamId stream, AddressRange values, FloatType type,
                                 std::int64_t rows, const GpuActivations& target) {
  TRY(check_values(values, type, rows, target));
  const GpuActivationsView& view = target.view();
  if (view.tiles != 0 && rows >= kMatrixRows)
    return told(*device_,
                enqueue_gemm_quantise(*device_, stream, values.address, type, rows, view));
  const TernaryActivationParams params{.values_address = values.address,
                                       .codes_address = view.codes,
                                       .rows_address = view.rows,
                                       .rows = static_cast<unsigned>(rows),
                                       .cols = static_cast<unsigned>(view.cols),
                                       .stride = view.stride,
                                       .value_type = static_cast<unsigned>(type)};
  const bool vulkan = device_->info().executor == "vulkan";
  // One row's block would, beside those of a product, take the place of one of the next product's.
  const LaunchShape shape{.blocks = static_cast<unsigned>(std::min<std::int64_t>(rows, 65535)),
                          .threads = vulkan ? kActivationVulkanThreads : kActivationThreads,
                          .overlaps = rows > 1};
  return told(*device_,
              device_->launch(stream, kTernaryActivations, shape, &params, sizeof params));
}

Result<void> GpuEngine::upload(StreamId stream, const Activations& activations,
                               const GpuActivations& target) {
  TRY(check_rows(target, activations.rows()));
  const GpuActivationsView& view = target.view();
  if (activations.cols() != view.cols)
    return fail(ErrorKind::wrong_size, "activations of " + std::to_string(activations.cols()) +
                                           " columns do not fit room for " +
                                           std::to_string(view.cols));
  const auto rows = static_cast<std::size_t>(activations.rows());
  std::vector<std::int8_t> codes(rows * view.stride);
  std::vector<GpuActivationRow> known(rows);
  for (std::size_t m = 0; m < rows; ++m) {
    const auto row = activations.row(static_cast<std::int64_t>(m));
    std::copy(row.begin(), row.end(), codes.begin() + static_cast<std::ptrdiff_t>(m * view.stride));
    known[m] = {activations.steps()[m], activations.sums()[m], kNoColumn, 0};
  }
  auto done = device_->copy_to_device(stream, view.codes, codes.data(), codes.size());
  if (done)
    done = device_->copy_to_device(stream, view.rows, known.data(),
                                   known.size() * sizeof(GpuActivationRow));
  if (done && view.tiles != 0 && activations.rows() >= kMatrixRows)
    done = enqueue_gemm_tiles(*device_, stream, activations.rows(), view);
  if (done) done = device_->synchronize(stream);
  return told(*device_, done);
}

Result<void> check_activation_rows(std::span<const GpuActivationRow> rows, float greatest_scale) {
  for (std::size_t m = 0; m < rows.size(); ++m) {
    if (rows[m].bad_column != kNoColumn)
      return fail(ErrorKind::not_finite, "activation " + std::to_string(rows[m].bad_column) +
                                             " of row " + std::to_string(m) +
                                             " is NaN or infinite");
    if (!std::isfinite(std::fabs(rows[m].step) * greatest_scale))
      return fail(ErrorKind::not_finite, "the product of a step and a scale is not finite");
  }
  return {};
}

Result<void> GpuEngine::check(StreamId stream, const GpuActivations& activations, std::int64_t rows,
                              const GpuWeights* weights) {
  TRY(check_rows(activations, rows));
  std::vector<GpuActivationRow> known(static_cast<std::size_t>(rows));
  auto done = device_->copy_to_host(stream, known.data(), activations.view().rows,
                                    known.size() * sizeof(GpuActivationRow));
  if (done) done = device_->synchronize(stream);
  if (!done) return told(*device_, done);
  return check_activation_rows(known, weights ? weights->view().greatest_scale : 0);
}

Result<void> enqueue_weights_quantise(Device& device, StreamId stream,
                                      TernaryWeightsParams weights) {
  const auto launch = [&](const Kernel& kernel, std::uint64_t blocks, unsigned threads) {
    return device.launch(stream, kernel,
                         {.blocks = static_cast<unsigned>(blocks), .threads = threads}, &weights,
                         sizeof weights);
  };
  weights.begin = weights.absmean != 0 ? 0 : 1;
  Result<void> done;
  if (weights.absmean != 0) {
    done = launch(kTernarySums, summed_runs(weights.count), kSumThreads);
    if (done) done = launch(kTernaryMean, 1, kMeanThreads);
  } else {
    done = launch(kTernarySigns, 1, kSignThreads);
  }
  if (!done) return done;
  weights.begin = 0;
  // More blocks read the scale more often, which tells where the weights are still in the cache;
  // and those of the sign rule all give their greatest magnitude.
  const DeviceInfo& info = device.info();
  const std::uint64_t bytes = weights.count * bytes_of(static_cast<FloatType>(weights.value_type));
  const bool many = weights.absmean != 0 && bytes > info.l2_cache_bytes.value_or(0) / 2;
  const std::uint64_t most = info.units * (many ? kManySignBlocksPerUnit : kSignBlocksPerUnit);
  const std::uint64_t needed = (weights.count / 16 + kSignThreads - 1) / kSignThreads;
  return launch(kTernarySigns, std::min(needed, most), kSignThreads);
}

Result<void> GpuEngine::quantise_weights(StreamId stream, AddressRange values, FloatType type,
                                         Shape shape, FormatId to, AddressRange out,
                                         AddressRange bad, Rule rule) {
  if (to != FormatId::i2s_x86 && to != FormatId::i2s_arm)
    return fail(ErrorKind::unsupported_tier,
                "a GPU quantises to i2_s-x86 and i2_s-arm, not to " + std::string(format(to).name));
  const auto bytes = encoded_bytes(to, shape);
  if (!bytes) return std::unexpected(bytes.error());
  const auto count =
      static_cast<std::uint64_t>(shape.rows) * static_cast<std::uint64_t>(shape.cols);
  if (values.bytes != count * bytes_of(type) || out.bytes != *bytes || bad.bytes != 8)
    return fail(ErrorKind::wrong_size, "weights of " + to_text(shape) + " need " +
                                           std::to_string(count * bytes_of(type)) +
                                           " bytes of values, " + std::to_string(*bytes) +
                                           " for the codes and 8 for what is not finite");
  if (values.address % 16 != 0 || out.address % 4 != 0 || bad.address % 8 != 0)
    return fail(ErrorKind::wrong_size, "the weights' place is not aligned to 16 bytes");
  const TernaryWeightsParams weights{.values_address = values.address,
                                     .out_address = out.address,
                                     .bad_address = bad.address,
                                     .count = count,
                                     .value_type = static_cast<unsigned>(type),
                                     .block = static_cast<unsigned>(format(to).block),
                                     .absmean = rule == Rule::absmean ? 1u : 0u,
                                     .begin = 0};
  return told(*device_, enqueue_weights_quantise(*device_, stream, weights));
}

}  // namespace gpuready::ternary
