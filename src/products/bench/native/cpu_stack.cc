// The workloads in FP32 on the CPU's threads: a reference, without a target of speed.
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/cpu/cpus.h"
#include "bench/native/host_stack.h"
#include "bench/run/inputs.h"
#include "bench/run/parallel.h"

namespace gpuready::bench {
namespace {

constexpr unsigned kLanes = 16;

// Sums in lanes, which compilers turn into vectors.
float dot(const float* a, const float* b, std::uint64_t count) {
  float lanes[kLanes] = {};
  const std::uint64_t whole = count - count % kLanes;
  for (std::uint64_t i = 0; i < whole; i += kLanes)
    for (unsigned lane = 0; lane < kLanes; ++lane) lanes[lane] += a[i + lane] * b[i + lane];
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  for (std::uint64_t i = whole; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

// A piece of a product's columns stays in the cache while all rows pass it.
constexpr std::uint64_t kColumns = 32;

class CpuStack final : public HostStack {
 public:
  explicit CpuStack(const Request& request)
      : r_(request), threads_(count_of_affinity()), in_(inputs_of(request)) {
    facts.device_name = fmt::format("CPU, {} threads", threads_);
    facts.reference = true;
    if (r_.task == Task::gemm) {  // rows of b^T are what dot() reads
      Input transposed{in_[1].columns, in_[1].rows, std::vector<float>(in_[1].values.size())};
      for (std::uint64_t k = 0; k < r_.k; ++k)
        for (std::uint64_t n = 0; n < r_.n; ++n)
          transposed.values[n * r_.k + k] = in_[1].values[k * r_.n + n];
      in_[1] = std::move(transposed);
    }
  }

  Result<std::vector<Output>> outputs() override {
    switch (r_.task) {
      case Task::mlp:
        return std::vector<Output>{
            {r_.batch, r_.hidden, y_}, {r_.batch, r_.batch, z_}, {1, 1, {mean_}}};
      case Task::attention:
        return std::vector<Output>{{in_[0].rows, kHeadElements, y_}};
      default:
        return std::vector<Output>{{r_.m, r_.n, y_}};
    }
  }

 private:
  // c[m,n] = a[m,k] b[n,k]^T + bias
  void product(const float* a, const float* b, const float* bias, std::vector<float>& c,
               std::uint64_t m, std::uint64_t n, std::uint64_t k) {
    c.resize(m * n);
    const std::uint64_t pieces = (n + kColumns - 1) / kColumns;
    parallel_pieces(pieces, threads_, [&](std::uint64_t first, std::uint64_t last, unsigned) {
      for (std::uint64_t piece = first; piece < last; ++piece)
        for (std::uint64_t i = 0; i < m; ++i)
          for (std::uint64_t j = piece * kColumns; j < std::min(n, (piece + 1) * kColumns); ++j)
            c[i * n + j] = dot(a + i * k, b + j * k, k) + (bias ? bias[j] : 0);
    });
  }
  void mlp() {
    const std::uint64_t b = r_.batch, h = r_.hidden;
    product(in_[0].values.data(), in_[1].values.data(), in_[2].values.data(), act_, b, 4 * h, h);
    parallel_pieces(act_.size(), threads_, [&](std::uint64_t first, std::uint64_t last, unsigned) {
      for (std::uint64_t i = first; i < last; ++i)
        act_[i] = 0.5f * act_[i] * (1 + std::erf(act_[i] * 0.70710678f));
    });
    product(act_.data(), in_[3].values.data(), in_[4].values.data(), y_, b, h, 4 * h);
    product(y_.data(), y_.data(), nullptr, z_, b, b, h);
    double sum = 0;
    for (const float value : z_) sum += value;
    mean_ = static_cast<float>(sum / static_cast<double>(z_.size()));
  }
  void attention() {
    y_.resize(in_[0].values.size());
    const std::uint64_t w = kHeadElements;
    parallel_pieces(in_[0].rows, threads_, [&](std::uint64_t first, std::uint64_t last, unsigned) {
      std::vector<float> weights(r_.m);
      for (std::uint64_t row = first; row < last; ++row) {
        const std::uint64_t head = row / r_.m * r_.m;
        const float* query = in_[0].values.data() + row * w;
        float* out = y_.data() + row * w;
        float most = -HUGE_VALF, total = 0;
        for (std::uint64_t s = 0; s < r_.m; ++s) {
          weights[s] = dot(query, in_[1].values.data() + (head + s) * w, w) / 8;
          most = std::max(most, weights[s]);
        }
        std::fill(out, out + w, 0.0f);
        for (std::uint64_t s = 0; s < r_.m; ++s) {
          const float weight = std::exp(weights[s] - most);
          const float* value = in_[2].values.data() + (head + s) * w;
          total += weight;
          for (std::uint64_t i = 0; i < w; ++i) out[i] += weight * value[i];
        }
        for (std::uint64_t i = 0; i < w; ++i) out[i] /= total;
      }
    });
  }
  Result<void> iterate() override {
    if (r_.task == Task::mlp) {
      mlp();
    } else if (r_.task == Task::attention) {
      attention();
    } else if (r_.task == Task::copy) {
      y_.resize(in_[0].values.size());
      std::memcpy(y_.data(), in_[0].values.data(), y_.size() * sizeof(float));
    } else {
      product(in_[0].values.data(), in_[1].values.data(), nullptr, y_, r_.m, r_.n, r_.k);
    }
    return {};
  }

  const Request r_;
  const unsigned threads_;
  std::vector<Input> in_;
  std::vector<float> act_, y_, z_;
  float mean_ = 0;
};

}  // namespace

Result<std::unique_ptr<NativeStack>> open_cpu_stack(const Request& request) {
  if (request.dtype != Dtype::fp32)
    return fail(
        ErrorKind::unsupported,
        fmt::format("gpuready computes in fp32 on the CPU, not in {}", to_string(request.dtype)));
  return std::make_unique<CpuStack>(request);
}

}  // namespace gpuready::bench
