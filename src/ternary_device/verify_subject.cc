#include "ternary_device/verify_subject.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/clock.h"
#include "ternary/floats.h"

namespace gpuready::ternary {
namespace {

class Timed {
 public:
  explicit Timed(CheckResult& check) : check_(check) {}
  ~Timed() { check_.duration_ms += elapsed_ms(start_); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  CheckResult& check_;
  Clock::time_point start_ = Clock::now();
};

template <class T>
std::string text_of(T value) {
  if constexpr (std::is_same_v<T, float>) {
    char text[48];
    std::snprintf(text, sizeof text, "%.9g (0x%08x)", static_cast<double>(value),
                  std::bit_cast<unsigned>(value));
    return text;
  }
  return std::to_string(value);
}

template <class T>
std::vector<T> poisoned(std::size_t count) {
  std::vector<T> out(count);
  std::memset(out.data(), 0x5A, count * sizeof(T));
  return out;
}

// Values as bits of a type, and the f32 numbers that they stand for.
struct TypedValues {
  std::vector<std::byte> bytes;
  std::vector<float> values;
  FloatView view(FloatType type) const { return {type, bytes}; }
};
TypedValues typed(std::vector<float> values, FloatType type) {
  TypedValues made;
  if (type == FloatType::f32) {
    made.bytes.resize(values.size() * 4);
    std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
    made.values = std::move(values);
    return made;
  }
  made.bytes.resize(values.size() * 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t bits =
        type == FloatType::f16
            ? f32_to_f16(values[i])
            : static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(values[i]) >> 16);
    std::memcpy(made.bytes.data() + 2 * i, &bits, 2);
    made.values.push_back(type == FloatType::f16 ? f16_to_f32(bits) : bf16_to_f32(bits));
  }
  return made;
}

std::string_view name_of(FloatType type) {
  constexpr std::string_view kNames[] = {"f32", "f16", "bf16"};
  return kNames[static_cast<int>(type)];
}

}  // namespace

Result<PackedProblem> pack_problem(const Problem& problem) {
  auto activations =
      Activations::from_int8(problem.y, problem.spec.m, problem.spec.k, problem.steps);
  if (!activations) return std::unexpected(activations.error());
  PackedProblem packed{problem, {}, std::move(*activations)};
  for (const Form form : {Form::two_bit, Form::three_trits}) {
    auto weights = PackedWeights::pack(problem.weights, form);
    if (!weights) return std::unexpected(weights.error());
    packed.forms.push_back(std::move(*weights));
  }
  return packed;
}

SubjectRun::SubjectRun(const Subject& subject, std::unique_ptr<Backend> backend)
    : subject_(subject), backend_(std::move(backend)) {
  for (std::size_t i = 0; i < kCheckCount; ++i) {
    checks_[i].subject = subject.name;
    checks_[i].check = kChecks[i];
  }
}

void SubjectRun::failed(CheckId id, const Error& error, const std::string& where) {
  CheckResult& c = check(id);
  // A product that a backend does not offer after it offered others is wrong; of the formats and
  // rules of quantising it may offer some.
  if (error.kind == ErrorKind::unsupported_tier && (id == CheckId::quantise || c.cases == 0)) {
    unsupported_[static_cast<std::size_t>(id)] = true;
    if (c.reason.empty()) c.reason = "not offered: " + where;
    return;
  }
  ++c.cases;
  if (c.wrong++ == 0) c.reason = where + ": " + error.message;
  if (error.kind == ErrorKind::device_lost) alive_ = false;
}

template <class T>
void SubjectRun::compare(CheckId id, std::span<const T> got, std::span<const T> want,
                         std::int64_t cols, const std::string& where) {
  CheckResult& c = check(id);
  ++c.cases;
  c.elements += want.size();
  if (std::memcmp(got.data(), want.data(), want.size_bytes()) == 0) return;
  ++c.wrong;
  if (c.wrong > 1) return;
  std::size_t at = 0;
  while (std::memcmp(&got[at], &want[at], sizeof(T)) == 0) ++at;
  const auto width = static_cast<std::size_t>(cols);
  c.reason = where + ": element (" + std::to_string(at / width) + ", " +
             std::to_string(at % width) + ") is " + text_of(got[at]) + ", not " + text_of(want[at]);
}

// verify_quantise.cc compares these.
template void SubjectRun::compare(CheckId, std::span<const std::uint8_t>,
                                  std::span<const std::uint8_t>, std::int64_t, const std::string&);
template void SubjectRun::compare(CheckId, std::span<const std::int8_t>,
                                  std::span<const std::int8_t>, std::int64_t, const std::string&);
template void SubjectRun::compare(CheckId, std::span<const float>, std::span<const float>,
                                  std::int64_t, const std::string&);

std::unique_ptr<BackendWeights> SubjectRun::load(CheckId id, const PackedWeights& weights,
                                                 const std::string& where) {
  auto loaded = backend_->load(weights);
  if (!loaded) {
    failed(id, loaded.error(), where + ": loading");
    return nullptr;
  }
  return std::move(*loaded);
}

void SubjectRun::note_kernel(Shape weights, std::int64_t rows) {
  kernels_.emplace(backend_->kernel_for(weights, rows));
}

void SubjectRun::products(const PackedProblem& packed) {
  const Problem& p = packed.problem;
  std::vector<std::int32_t> want(p.sums.begin(), p.sums.end());
  note_kernel(p.weights.shape, p.spec.m);
  for (const PackedWeights& form : packed.forms) {
    if (!alive_) return;
    const std::string where = to_string(p.spec) + ", " + std::string(to_string(form.form()));
    const auto weights = load(CheckId::int32, form, where);
    if (!weights) return;
    const auto one = [&]<class T>(CheckId id, std::span<const T> right) {
      if (!alive_) return;
      const Timed timed(check(id));
      auto out = poisoned<T>(right.size());
      const auto done = backend_->multiply(*weights, packed.activations, std::span(out));
      if (!done)
        failed(id, done.error(), where);
      else
        compare<T>(id, out, right, p.spec.n, where);
    };
    one(CheckId::int32, std::span<const std::int32_t>(want));
    one(CheckId::f32, std::span<const float>(p.values));
    one(CheckId::bf16, std::span<const std::uint16_t>(p.halves));
  }
}

void SubjectRun::packing(std::int64_t n, std::int64_t k, std::uint64_t seed) {
  const Timed timed(check(CheckId::packing));
  // A unit row for each column reads one weight of every row.
  Problem p = make_problem({1, n, k}, seed);
  const auto width = static_cast<std::size_t>(k), height = static_cast<std::size_t>(n);
  std::vector<std::int8_t> units(width * width, 0);
  std::vector<std::int32_t> want(width * height);
  for (std::size_t i = 0; i < width; ++i) {
    units[i * width + i] = 1;
    for (std::size_t row = 0; row < height; ++row)
      want[i * height + row] = p.weights.values[row * width + i];
  }
  const auto activations = Activations::from_int8(units, k, k);
  for (const Form form : {Form::two_bit, Form::three_trits}) {
    if (!alive_) return;
    const std::string where = "unit rows, N " + std::to_string(n) + ", K " + std::to_string(k) +
                              ", " + std::string(to_string(form));
    const auto packed = PackedWeights::pack(p.weights, form);
    if (!packed || !activations) {
      failed(CheckId::packing, packed ? activations.error() : packed.error(), where);
      return;
    }
    compare<std::int8_t>(CheckId::packing, packed->unpack().values, p.weights.values, k,
                         "unpacked, " + where);
    const auto weights = load(CheckId::packing, *packed, where);
    if (!weights) return;
    auto out = poisoned<std::int32_t>(want.size());
    const auto done = backend_->multiply(*weights, *activations, std::span(out));
    if (!done)
      failed(CheckId::packing, done.error(), where);
    else
      compare<std::int32_t>(CheckId::packing, out, want, n, where);
  }
}

void SubjectRun::values(const ProblemSpec& spec, FloatType type, std::uint64_t seed) {
  const Timed timed(check(CheckId::values));
  Problem p = make_problem(spec, seed);
  Numbers numbers(seed + 1);
  const auto m = static_cast<std::size_t>(spec.m), k = static_cast<std::size_t>(spec.k);
  std::vector<float> floats(m * k);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const std::size_t row = i / k;
    switch ((row + seed) % 4) {
      case 0:
        floats[i] = static_cast<float>(numbers.normal());
        break;
      case 1:  // steps of one half, with 127 the greatest: ties
        floats[i] = i % k == 0 ? 127.0f : 0.5f * static_cast<float>(numbers.between(-253, 253));
        break;
      case 2:  // below the least step
        floats[i] = 1e-7f * static_cast<float>(numbers.between(-50, 50));
        break;
      default:
        floats[i] = static_cast<float>(numbers.normal()) * (i % 17 == 0 ? 3000.0f : 2.0f);
    }
  }
  const TypedValues given = typed(std::move(floats), type);
  for (std::size_t row = 0; row < m; ++row) {
    const QuantisedRow quantised = quantise_row_plainly(given.values.data() + row * k, k);
    std::copy(quantised.codes.begin(), quantised.codes.end(),
              p.y.begin() + static_cast<std::ptrdiff_t>(row * k));
    p.steps[row] = quantised.step;
  }
  p.solve();
  const std::vector<std::int32_t> want(p.sums.begin(), p.sums.end());
  const std::string where = to_string(spec) + ", " + std::string(name_of(type));
  const auto packed = PackedWeights::pack(p.weights);
  const auto weights = load(CheckId::values, *packed, where);
  if (!weights) return;
  const auto one = [&]<class T>(std::span<const T> right) {
    if (!alive_) return;
    auto out = poisoned<T>(right.size());
    const auto done = backend_->multiply(*weights, given.view(type), spec.m, std::span(out));
    if (!done)
      failed(CheckId::values, done.error(), where);
    else
      compare<T>(CheckId::values, out, right, spec.n, where);
  };
  one(std::span<const std::int32_t>(want));
  one(std::span<const float>(p.values));
  one(std::span<const std::uint16_t>(p.halves));
}

void SubjectRun::accuracy(Shape shape, std::int64_t rows, std::uint64_t seed) {
  CheckResult& c = check(CheckId::accuracy);
  const Timed timed(c);
  Numbers numbers(seed);
  const auto n = static_cast<std::size_t>(shape.rows), k = static_cast<std::size_t>(shape.cols);
  const auto m = static_cast<std::size_t>(rows);
  std::vector<float> w(n * k), x(m * k);
  for (float& value : w) value = static_cast<float>(numbers.normal() * 0.03);
  for (float& value : x) value = static_cast<float>(numbers.normal());
  const std::string where = to_string(ProblemSpec{rows, shape.rows, shape.cols});
  const auto codes = quantise_absmean(std::span<const float>(w), shape);
  const auto packed = PackedWeights::pack(*codes);
  const auto weights = load(CheckId::accuracy, *packed, where);
  if (!weights) return;
  auto out = poisoned<float>(m * n);
  if (const auto done =
          backend_->multiply(*weights, std::span<const float>(x), rows, std::span(out));
      !done) {
    failed(CheckId::accuracy, done.error(), where);
    return;
  }
  double error = 0, power = 0;
  for (std::size_t row = 0; row < m; ++row) {
    for (std::size_t col = 0; col < n; ++col) {
      double sum = 0;
      for (std::size_t i = 0; i < k; ++i)
        sum += static_cast<double>(codes->values[col * k + i]) * x[row * k + i];
      sum *= codes->scales[0];
      const double difference = static_cast<double>(out[row * n + col]) - sum;
      error += difference * difference;
      power += sum * sum;
    }
  }
  const double nmse = error / power;
  ++c.cases;
  c.elements += m * n;
  if (!c.nmse || !(nmse <= *c.nmse)) c.nmse = nmse;  // NaN stays
  if (!(nmse <= kMostNmse) && c.wrong++ == 0)
    c.reason = where + ": NMSE " + std::to_string(nmse) + " is over " + std::to_string(kMostNmse);
}

std::vector<CheckResult> SubjectRun::results() const {
  std::vector<CheckResult> results;
  for (std::size_t i = 0; i < kCheckCount; ++i) {
    if (i == static_cast<std::size_t>(CheckId::cpu) && backend_->info().kind == BackendKind::cpu)
      continue;
    CheckResult result = checks_[i];
    result.status = result.wrong > 0   ? CheckStatus::failed
                    : result.cases > 0 ? CheckStatus::passed
                    : unsupported_[i]  ? CheckStatus::not_supported
                                       : CheckStatus::not_tested;
    if (result.status == CheckStatus::not_tested && result.reason.empty())
      result.reason = alive_ ? "it was not reached" : "the device was lost before";
    if (result.nmse && !std::isfinite(*result.nmse)) result.nmse.reset();
    results.push_back(std::move(result));
  }
  return results;
}

SubjectResult SubjectRun::summary() const {
  SubjectResult summary;
  summary.name = subject_.name;
  summary.device = backend_->info().name;
  summary.kernels.assign(kernels_.begin(), kernels_.end());
  summary.asked = subject_.asked;
  return summary;
}

void SubjectRun::refused(ErrorKind want, const Result<void>& got, const std::string& what) {
  CheckResult& c = check(CheckId::refusals);
  ++c.cases;
  if (!got && got.error().kind == want) return;
  if (c.wrong++ > 0) return;
  c.reason =
      what +
      (got ? " was accepted"
           : ": " + std::string(to_string(got.error().kind)) + " (" + got.error().message + ")") +
      ", not " + std::string(to_string(want));
}

void SubjectRun::refusals() {
  const Timed timed(check(CheckId::refusals));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Problem p = make_problem({3, 21, 150}, 11);
  const auto weights = load(CheckId::refusals, *PackedWeights::pack(p.weights), "refusals");
  if (!weights) return;
  const std::size_t count = 3 * 21;
  auto out = poisoned<float>(count);
  const auto untouched = out;
  const auto unchanged = [&](const std::string& what) {
    CheckResult& c = check(CheckId::refusals);
    if (std::memcmp(out.data(), untouched.data(), count * 4) != 0 && c.wrong++ == 0)
      c.reason = what + ": output was written";
  };
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity})
    for (const std::size_t at : {std::size_t{0}, std::size_t{149}, std::size_t{3 * 150 - 1}}) {
      std::vector<float> x(3 * 150, 0.25f);
      x[at] = bad;
      const std::string what = std::to_string(bad) + " as activation " + std::to_string(at);
      refused(ErrorKind::not_finite,
              backend_->multiply(*weights, std::span<const float>(x), 3, std::span(out)), what);
      unchanged(what);
    }
  const auto activations = Activations::from_int8(p.y, 3, 150, p.steps);
  refused(ErrorKind::wrong_size,
          backend_->multiply(*weights, *activations, std::span(out).first(count - 1)),
          "an output of one element too few");
  unchanged("an output of one element too few");
  const std::vector<float> x(3 * 150 - 1, 0.25f);
  refused(ErrorKind::wrong_size,
          backend_->multiply(*weights, std::span<const float>(x), 3, std::span(out)),
          "one activation too few");
  const auto narrow = Activations::from_int8(std::span(p.y).first(3 * 149), 3, 149);
  refused(ErrorKind::wrong_size, backend_->multiply(*weights, *narrow, std::span(out)),
          "activations of another width");
  Codes large = p.weights;
  for (float& scale : large.scales) scale = 3e38f;
  const auto overflowing = load(CheckId::refusals, *PackedWeights::pack(large), "large scales");
  if (!overflowing) return;
  const std::vector<float> steps(3, 1e10f);
  const auto steep = Activations::from_int8(p.y, 3, 150, steps);
  refused(ErrorKind::not_finite, backend_->multiply(*overflowing, *steep, std::span(out)),
          "an infinite step times scale");
  unchanged("an infinite step times scale");
}

void SubjectRun::against(Backend& cpu, Shape shape, std::int64_t rows, std::uint64_t seed) {
  const Timed timed(check(CheckId::cpu));
  Numbers numbers(seed);
  Codes codes;
  codes.shape = shape;
  codes.scales = {0.0371f};
  codes.values.resize(static_cast<std::size_t>(shape.rows * shape.cols));
  for (std::int8_t& code : codes.values) code = static_cast<std::int8_t>(numbers.between(-1, 1));
  std::vector<float> x(static_cast<std::size_t>(rows * shape.cols));
  for (float& value : x) value = static_cast<float>(numbers.normal());
  const std::string where = to_string(ProblemSpec{rows, shape.rows, shape.cols});
  const auto packed = PackedWeights::pack(codes);
  const auto weights = load(CheckId::cpu, *packed, where);
  const auto on_cpu = cpu.load(*packed);
  if (!weights || !on_cpu) return;
  note_kernel(shape, rows);
  const auto count = static_cast<std::size_t>(rows * shape.rows);
  const auto one = [&]<class T>(T) {
    if (!alive_) return;
    auto want = poisoned<T>(count), got = poisoned<T>(count);
    const FloatView view{std::span<const float>(x)};
    if (const auto done = cpu.multiply(**on_cpu, view, rows, std::span(want)); !done) {
      failed(CheckId::cpu, done.error(), "the CPU, " + where);
      return;
    }
    if (const auto done = backend_->multiply(*weights, view, rows, std::span(got)); !done)
      failed(CheckId::cpu, done.error(), where);
    else
      compare<T>(CheckId::cpu, got, want, shape.rows, where);
  };
  one(std::int32_t{});
  one(float{});
}

}  // namespace gpuready::ternary
