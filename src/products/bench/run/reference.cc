#include "bench/run/reference.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include "bench/run/inputs.h"
#include "bench/run/parallel.h"

namespace gpuready::bench {
namespace {

using Vector = std::vector<double>;

constexpr unsigned kDigestsY = 3, kDigestsZ = 2, kFirstZ = 8;
// Rows of an attention's output that its digest covers: a product of all would take minutes.
constexpr std::uint64_t kAttentionRows = 2048;
constexpr std::uint64_t kSampledRows = 8;  // from which the size of outputs is estimated

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}
double norm(const Vector& a) { return std::sqrt(dot(a, a)); }

Vector left_vector(const Request& r, unsigned index, std::uint64_t rows) {
  Vector vector = digest_vector(r.seed, 2 * index, rows);
  if (r.task != Task::attention) return vector;
  const std::uint64_t step = (rows + kAttentionRows - 1) / kAttentionRows;
  for (std::uint64_t i = 0; i < rows; ++i)
    if (i % step != 0) vector[i] = 0;
  return vector;
}
Vector right_vector(const Request& r, unsigned index, std::uint64_t columns) {
  return digest_vector(r.seed, 2 * index + 1, columns);
}
// Of y against random vectors, where q^T y is `projected`.
ExpectedDigest digest_y(unsigned i, const Vector& left, const Vector& projected,
                        const Vector& right, double rms) {
  return {fmt::format("y{}", i), dot(projected, right), rms * norm(left) * norm(right)};
}

double gelu(double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); }
double gelu_tanh(double x) {
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

// As if it were kept in the dtype; what is wider than 16 bits is kept as it is.
double rounded(double x, Dtype dtype) {
  if (bytes_of(dtype) != 2 || x == 0) return x;
  const bool bf16 = dtype == Dtype::bf16;
  int exponent = 0;
  std::frexp(x, &exponent);
  const int least = bf16 ? -133 : -24;  // of the smallest number above zero
  const double step = std::ldexp(1.0, std::max(exponent - (bf16 ? 8 : 11), least));
  return std::nearbyint(x / step) * step;
}

// Weights as the integers that they are times `step`.
struct IntegerMatrix {
  std::uint64_t rows = 0, columns = 0;
  std::vector<std::int16_t> values;
  double step = 0;
  const std::int16_t* row(std::uint64_t i) const { return values.data() + i * columns; }
};
IntegerMatrix integers(const Request& r, InputStream stream, std::uint64_t rows,
                       std::uint64_t columns, double scale) {
  IntegerMatrix matrix{rows, columns, std::vector<std::int16_t>(rows * columns), scale / 256};
  const auto bytes = input_bytes(r.seed, static_cast<unsigned>(stream), rows * columns);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    matrix.values[i] = static_cast<std::int16_t>(uniform_integer(bytes[i]));
  return matrix;
}
// Exact: 255 * 255 * 32768 is below 2^31.
std::int32_t exact_dot(const std::int16_t* a, const std::int16_t* b, std::uint64_t count) {
  std::int32_t sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) sum += std::int32_t{a[i]} * b[i];
  return sum;
}
double dot(const std::int16_t* a, const double* b, std::uint64_t count) {
  double sums[4] = {};
  const std::uint64_t fours = count / 4 * 4;
  for (std::uint64_t i = 0; i < fours; i += 4)
    for (unsigned j = 0; j < 4; ++j) sums[j] += a[i + j] * b[i + j];
  for (std::uint64_t i = fours; i < count; ++i) sums[0] += a[i] * b[i];
  return sums[0] + sums[1] + sums[2] + sums[3];
}

// y = gelu(x w1^T + b1) w2^T + b2, z = y y^T, mean(z).
class Mlp {
 public:
  Mlp(const Request& request, unsigned threads) : r_(request), threads_(threads) {
    const std::uint64_t h = r_.hidden;
    x_ = integers(r_, InputStream::x, r_.batch, h, 1);
    w1_ = integers(r_, InputStream::w1, 4 * h, h, weight_scale(h));
    b1_ = integers(r_, InputStream::b1, 1, 4 * h, kBiasScale);
    w2_ = integers(r_, InputStream::w2, h, 4 * h, weight_scale(4 * h));
    b2_ = integers(r_, InputStream::b2, 1, h, kBiasScale);
  }

  std::vector<ExpectedDigest> digests() {
    const std::uint64_t b = r_.batch, h = r_.hidden;
    for (unsigned i = 0; i < kDigestsY; ++i) lefts_.push_back(digest_vector(r_.seed, 2 * i, b));
    for (unsigned i = 0; i < 2 * kDigestsZ; ++i)
      lefts_.push_back(digest_vector(r_.seed, kFirstZ + i, b));
    lefts_.emplace_back(b, 1.0);
    const std::size_t ones = lefts_.size() - 1;
    project();
    std::vector<Vector> y;  // y^T q for each q
    for (std::size_t i = 0; i < lefts_.size(); ++i) y.push_back(output(acts_[i], sum(lefts_[i])));

    std::vector<ExpectedDigest> out;
    for (unsigned i = 0; i < kDigestsY; ++i)
      out.push_back(digest_y(i, lefts_[i], y[i], right_vector(r_, i, h), rms_));
    Vector sums(h);
    for (std::uint64_t j = 0; j < h; ++j)
      sums[j] = w2_.step * std::accumulate(w2_.row(j), w2_.row(j) + 4 * h, std::int64_t{0});
    const double activation = dot(y[ones], sums);
    const auto of = [&](const Vector& act) {
      return dot(output(act, static_cast<double>(b)), sums);
    };
    out.push_back({"activation", activation, rms_ * std::sqrt(static_cast<double>(b)) * norm(sums),
                   of(fused_act_), ExpectedDigest::Tanh{of(tanh_act_), of(fused_tanh_act_)}});
    for (unsigned i = 0; i < kDigestsZ; ++i) {
      const std::size_t q = kDigestsY + 2 * i, p = q + 1;
      out.push_back(
          {fmt::format("z{}", i), dot(y[q], y[p]), scale_z(lefts_[q], lefts_[p], y[q], y[p])});
    }
    const double pairs = static_cast<double>(b) * static_cast<double>(b);
    out.push_back({"mean", dot(y[ones], y[ones]) / pairs,
                   scale_z(lefts_[ones], lefts_[ones], y[ones], y[ones]) / pairs +
                       dot(y[ones], y[ones]) / pairs});
    return out;
  }

 private:
  static double sum(const Vector& v) { return std::accumulate(v.begin(), v.end(), 0.0); }

  // acts_[i] = gelu(...)^T q_i with the roundings of the dtype; for ones also with tanh, and both
  // without roundings; the size of y from a few rows.
  void project() {
    const std::uint64_t wide = 4 * r_.hidden;
    std::vector<std::vector<Vector>> parts(threads_);
    std::vector<Vector> tanh_parts(threads_), fused_parts(threads_), fused_tanh_parts(threads_);
    std::vector<double> squares(threads_);
    const std::uint64_t every = std::max<std::uint64_t>(1, r_.batch / kSampledRows);
    parallel_pieces(r_.batch, threads_, [&](std::uint64_t first, std::uint64_t last, unsigned t) {
      auto& mine = parts[t];
      mine.assign(lefts_.size(), Vector(wide));
      for (auto* each : {&tanh_parts, &fused_parts, &fused_tanh_parts}) (*each)[t].resize(wide);
      Vector act(wide);
      for (std::uint64_t i = first; i < last; ++i) {
        for (std::uint64_t j = 0; j < wide; ++j) {
          const double h = x_.step * w1_.step * exact_dot(x_.row(i), w1_.row(j), r_.hidden) +
                           b1_.step * b1_.values[j];
          const double kept = rounded(h, r_.dtype);
          act[j] = rounded(gelu(kept), r_.dtype);
          fused_parts[t][j] += gelu(h);
          fused_tanh_parts[t][j] += gelu_tanh(h);
          tanh_parts[t][j] += rounded(gelu_tanh(kept), r_.dtype);
        }
        for (std::size_t v = 0; v < lefts_.size(); ++v)
          for (std::uint64_t j = 0; j < wide; ++j) mine[v][j] += lefts_[v][i] * act[j];
        if (i % every == 0) {
          const Vector y = output(act, 1);
          squares[t] += dot(y, y);
        }
      }
    });
    acts_.assign(lefts_.size(), Vector(wide));
    for (auto* each : {&tanh_act_, &fused_act_, &fused_tanh_act_}) each->assign(wide, 0);
    for (unsigned t = 0; t < threads_; ++t) {
      if (parts[t].empty()) continue;
      for (std::size_t v = 0; v < lefts_.size(); ++v)
        for (std::uint64_t j = 0; j < wide; ++j) acts_[v][j] += parts[t][v][j];
      for (std::uint64_t j = 0; j < wide; ++j) {
        tanh_act_[j] += tanh_parts[t][j];
        fused_act_[j] += fused_parts[t][j];
        fused_tanh_act_[j] += fused_tanh_parts[t][j];
      }
    }
    const std::uint64_t sampled = (r_.batch + every - 1) / every;
    rms_ = std::sqrt(sum(squares) / static_cast<double>(sampled * r_.hidden));
  }

  // w2 act + times * b2
  Vector output(const Vector& act, double times) const {
    Vector y(r_.hidden);
    for (std::uint64_t j = 0; j < r_.hidden; ++j)
      y[j] =
          w2_.step * dot(w2_.row(j), act.data(), 4 * r_.hidden) + times * b2_.step * b2_.values[j];
    return y;
  }

  // q^T z p = (y^T q).(y^T p): errors of y in either factor, and roundings of z, of which the
  // diagonal is the largest.
  double scale_z(const Vector& q, const Vector& p, const Vector& yq, const Vector& yp) const {
    double diagonal = 0;
    for (std::size_t i = 0; i < q.size(); ++i) diagonal += q[i] * q[i] * p[i] * p[i];
    return rms_ * (norm(q) * norm(yp) + norm(p) * norm(yq)) +
           std::sqrt(diagonal) * static_cast<double>(r_.hidden) * rms_ * rms_;
  }

  const Request& r_;
  const unsigned threads_;
  IntegerMatrix x_, w1_, b1_, w2_, b2_;
  std::vector<Vector> lefts_, acts_;
  Vector tanh_act_, fused_act_, fused_tanh_act_;
  double rms_ = 0;
};

// q^T (a b) r = (a^T q).(b r)
std::vector<ExpectedDigest> gemm_digests(const Request& r) {
  const auto inputs = inputs_of(r);
  const bool transposed = r.task == Task::ternary;  // b is [N,K] then
  const Input &a = inputs[0], &b = inputs[1];
  const auto at_b = [&](std::uint64_t k, std::uint64_t n) -> double {
    return transposed ? b.values[n * r.k + k] : b.values[k * r.n + n];
  };
  double squares = 0;
  std::uint64_t elements = 0;
  for (std::uint64_t i = 0; i < r.m; i += std::max<std::uint64_t>(1, r.m / kSampledRows))
    for (std::uint64_t j = 0; j < r.n; j += std::max<std::uint64_t>(1, r.n / 64), ++elements) {
      double sum = 0;
      for (std::uint64_t k = 0; k < r.k; ++k) sum += a.values[i * r.k + k] * at_b(k, j);
      squares += sum * sum;
    }
  const double rms = std::sqrt(squares / static_cast<double>(elements));
  std::vector<ExpectedDigest> out;
  for (unsigned i = 0; i < kDigestsY; ++i) {
    const Vector left = left_vector(r, i, r.m), right = right_vector(r, i, r.n);
    Vector from_left(r.k), from_right(r.k);
    for (std::uint64_t row = 0; row < r.m; ++row)
      for (std::uint64_t k = 0; k < r.k; ++k) from_left[k] += left[row] * a.values[row * r.k + k];
    if (transposed)
      for (std::uint64_t n = 0; n < r.n; ++n)
        for (std::uint64_t k = 0; k < r.k; ++k) from_right[k] += right[n] * b.values[n * r.k + k];
    else
      for (std::uint64_t k = 0; k < r.k; ++k)
        for (std::uint64_t n = 0; n < r.n; ++n) from_right[k] += right[n] * b.values[k * r.n + n];
    out.push_back(
        {fmt::format("y{}", i), dot(from_left, from_right), rms * norm(left) * norm(right)});
  }
  return out;
}

std::vector<ExpectedDigest> copy_digests(const Request& r) {
  const auto inputs = inputs_of(r);
  std::vector<ExpectedDigest> out;
  for (unsigned i = 0; i < kDigestsY; ++i) {
    const Vector left = left_vector(r, i, r.m), right = right_vector(r, i, r.n);
    double sum = 0;
    for (std::uint64_t row = 0; row < r.m; ++row) {
      double of_row = 0;
      for (std::uint64_t n = 0; n < r.n; ++n) of_row += inputs[0].values[row * r.n + n] * right[n];
      sum += left[row] * of_row;
    }
    out.push_back({fmt::format("y{}", i), sum, std::sqrt(1.0 / 3) * norm(left) * norm(right)});
  }
  return out;
}

// softmax(q k^T / 8) v for the rows that the digest covers.
std::vector<ExpectedDigest> attention_digests(const Request& r, unsigned threads) {
  const auto inputs = inputs_of(r);
  const std::uint64_t rows = inputs[0].rows, width = kHeadElements;
  std::vector<Vector> lefts, rights;
  for (unsigned i = 0; i < kDigestsY; ++i) {
    lefts.push_back(left_vector(r, i, rows));
    rights.push_back(right_vector(r, i, width));
  }
  std::vector<std::array<double, kDigestsY + 2>> parts(threads);  // sums, squares, rows
  parallel_pieces(rows, threads, [&](std::uint64_t first, std::uint64_t last, unsigned t) {
    Vector weights(r.m), out(width);
    for (std::uint64_t row = first; row < last; ++row) {
      if (lefts[0][row] == 0) continue;  // never a value of digest_vector(): odd numbers
      const float* query = inputs[0].values.data() + row * width;
      const std::uint64_t head = row / r.m * r.m;
      double most = -HUGE_VAL, total = 0;
      for (std::uint64_t s = 0; s < r.m; ++s) {
        const float* key = inputs[1].values.data() + (head + s) * width;
        double sum = 0;
        for (std::uint64_t i = 0; i < width; ++i) sum += double{query[i]} * key[i];
        weights[s] = sum / std::sqrt(static_cast<double>(width));
        most = std::max(most, weights[s]);
      }
      std::fill(out.begin(), out.end(), 0);
      for (std::uint64_t s = 0; s < r.m; ++s) {
        const double weight = std::exp(weights[s] - most);
        const float* value = inputs[2].values.data() + (head + s) * width;
        total += weight;
        for (std::uint64_t i = 0; i < width; ++i) out[i] += weight * value[i];
      }
      for (double& value : out) value /= total;
      for (unsigned i = 0; i < kDigestsY; ++i) parts[t][i] += lefts[i][row] * dot(out, rights[i]);
      parts[t][kDigestsY] += dot(out, out);
      parts[t][kDigestsY + 1] += 1;
    }
  });
  std::array<double, kDigestsY + 2> sums = {};
  for (const auto& part : parts)
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += part[i];
  const double rms =
      std::sqrt(sums[kDigestsY] / (sums[kDigestsY + 1] * static_cast<double>(width)));
  std::vector<ExpectedDigest> out;
  for (unsigned i = 0; i < kDigestsY; ++i)
    out.push_back({fmt::format("y{}", i), sums[i], rms * norm(lefts[i]) * norm(rights[i])});
  return out;
}

double project(const Output& y, const Vector& left, const Vector& right) {
  double total = 0;
  for (std::uint64_t row = 0; row < y.rows; ++row) {
    if (left[row] == 0) continue;
    double sum = 0;
    for (std::uint64_t n = 0; n < y.columns; ++n) sum += y.values[row * y.columns + n] * right[n];
    total += left[row] * sum;
  }
  return total;
}

// Tensor cores cut sums off instead of rounding them, so that all they give is nearer to zero: on
// an H200 by up to 1.7e-5 of its value.
double most_cut_off(const Request& request) {
  return request.task == Task::copy || request.dtype == Dtype::fp32 ? 0 : 3e-5;
}

// Nearer to it than to erf's, where the two are farther apart than roundings carry a digest.
bool is_tanh(const ExpectedDigest& expected, double found, double noise) {
  const auto off = [&](double value) { return std::abs(found - value); };
  const double erf = std::min(off(expected.value), off(*expected.fused));
  const double tanh = std::min(off(expected.tanh->kept), off(expected.tanh->fused));
  return tanh < erf / 2 && tanh < 2 * noise && erf > noise / 2;
}

}  // namespace

std::vector<ExpectedDigest> reference_digests(const Request& request, unsigned threads) {
  threads = std::max(threads, 1u);
  switch (request.task) {
    case Task::mlp:
      return Mlp(request, threads).digests();
    case Task::copy:
      return copy_digests(request);
    case Task::attention:
      return attention_digests(request, threads);
    case Task::gemm:
    case Task::ternary:
      break;
  }
  return gemm_digests(request);
}

// About five times the root mean square of what a careful implementation is off by: roundings of
// an intermediate and of the output to 24, 11 (tf32, of the factors), 8 and 11 bits. In fp16 twice
// that: on an H200, XLA was off by 1.12 times the five in one of 24 digests.
double digest_tolerance(const Request& request) {
  if (request.task == Task::copy) return 1e-9;
  switch (request.dtype) {
    case Dtype::fp32:
      return 2e-5;
    case Dtype::tf32:
      return 2e-3;
    case Dtype::bf16:
      return 1.5e-2;
    case Dtype::fp16:
      break;
  }
  return 4e-3;
}

std::optional<std::string> other_work(const Request& request,
                                      std::span<const ExpectedDigest> expected,
                                      std::span<const double> found) {
  if (found.size() != expected.size())
    return fmt::format("its digest has {} numbers; expected {}", found.size(), expected.size());
  const double tolerance = digest_tolerance(request);
  for (std::size_t i = 0; i < found.size(); ++i)
    if (expected[i].tanh && is_tanh(expected[i], found[i], tolerance * expected[i].scale))
      return "its GELU is the tanh approximation, or as coarse; the workload's is by erf";
  for (std::size_t i = 0; i < found.size(); ++i) {
    const ExpectedDigest& right = expected[i];
    const double roundings = std::abs(right.value - right.fused.value_or(right.value));
    const double most = std::max(tolerance * right.scale, 1.2 * roundings) +
                        most_cut_off(request) * std::abs(right.value);
    if (std::abs(found[i] - right.value) <= most) continue;  // never of NaN
    return fmt::format(
        "its output is not that of the workload in {}: digest {} is {:.6g}; expected {:.6g} within "
        "{:.3g}",
        to_string(request.dtype), right.name, found[i], right.value, most);
  }
  return std::nullopt;
}

std::vector<double> digest_of(const Request& r, std::span<const Output> outputs) {
  const Output& y = outputs[0];
  std::vector<double> found;
  for (unsigned i = 0; i < kDigestsY; ++i)
    found.push_back(project(y, left_vector(r, i, y.rows), right_vector(r, i, y.columns)));
  if (r.task != Task::mlp) return found;
  const auto w2 = integers(r, InputStream::w2, r.hidden, 4 * r.hidden, weight_scale(4 * r.hidden));
  Vector sums(r.hidden);
  for (std::uint64_t j = 0; j < r.hidden; ++j)
    sums[j] = w2.step * std::accumulate(w2.row(j), w2.row(j) + w2.columns, std::int64_t{0});
  found.push_back(project(y, Vector(y.rows, 1.0), sums));
  for (unsigned i = 0; i < kDigestsZ; ++i)
    found.push_back(project(outputs[1], digest_vector(r.seed, kFirstZ + 2 * i, y.rows),
                            digest_vector(r.seed, kFirstZ + 2 * i + 1, y.rows)));
  found.push_back(outputs[2].values[0]);
  return found;
}

}  // namespace gpuready::bench
