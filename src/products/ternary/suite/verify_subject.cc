#include "ternary/suite/verify_subject.h"

#include <cmath>

#include "base/result.h"
#include "ternary/suite/verify_compare.h"

namespace gpuready::ternary {

Result<PackedProblem> pack_problem(const Problem& problem) {
  auto activations =
      TRY(Activations::from_int8(problem.y, problem.spec.m, problem.spec.k, problem.steps));
  PackedProblem packed{problem, {}, std::move(activations)};
  if (problem.group != 0) {
    packed.forms.push_back(
        TRY(PackedWeights::pack(problem.weights.values, problem.weights.shape,
                                {std::span<const float>(problem.weights.scales), problem.group})));
    return packed;
  }
  for (const Form form : {Form::two_bit, Form::three_trits}) {
    auto weights = TRY(PackedWeights::pack(problem.weights, form));
    packed.forms.push_back(std::move(weights));
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
  // rules of quantising, and of f16 outputs and addends, it may offer some.
  const bool may_offer_some = id == CheckId::quantise || id == CheckId::epilogue;
  if (error.kind == ErrorKind::unsupported_tier && (may_offer_some || c.cases == 0)) {
    unsupported_[static_cast<std::size_t>(id)] = true;
    if (c.reason.empty()) c.reason = "not offered: " + where;
    return;
  }
  ++c.cases;
  if (c.wrong++ == 0) c.reason = where + ": " + error.message;
  if (error.kind == ErrorKind::device_lost) alive_ = false;
}

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

void SubjectRun::products(const PackedProblem& packed, std::optional<Form> f32_of) {
  const Problem& p = packed.problem;
  std::vector<std::int32_t> want(p.sums.begin(), p.sums.end());
  if (p.group == 0)
    note_kernel(p.weights.shape, p.spec.m);
  else
    kernels_.emplace(backend_->grouped_kernel(p.weights.shape, p.spec.m));
  for (const PackedWeights& form : packed.forms) {
    if (!alive_) return;
    if (f32_of && form.form() != *f32_of) continue;
    const std::string where = to_string(p.spec) + ", " + std::string(to_string(form.form())) +
                              (p.group == 0 ? "" : ", groups of " + std::to_string(p.group));
    const auto weights = load(p.group == 0 ? CheckId::int32 : CheckId::f32, form, where);
    if (!weights) return;
    const auto one = [&]<class T>(CheckId id, std::span<const T> right) {
      if (!alive_) return;
      const CheckTimer timer(check(id));
      auto out = poisoned<T>(right.size());
      const auto done = backend_->multiply(*weights, packed.activations, std::span(out));
      if (!done)
        failed(id, done.error(), where);
      else
        compare<T>(id, out, right, p.spec.n, where);
    };
    if (!f32_of && p.group == 0) one(CheckId::int32, std::span<const std::int32_t>(want));
    one(CheckId::f32, std::span<const float>(p.values));
    if (!f32_of) one(CheckId::bf16, std::span<const std::uint16_t>(p.halves));
  }
}

bool SubjectRun::offers_nothing() const {
  bool unsupported = false;
  for (std::size_t i = 0; i < kCheckCount; ++i) {
    if (checks_[i].cases > 0) return false;
    unsupported |= unsupported_[i];
  }
  return unsupported;
}

void SubjectRun::packing(std::int64_t n, std::int64_t k, std::uint64_t seed) {
  const CheckTimer timer(check(CheckId::packing));
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

void SubjectRun::against(Backend& cpu, Shape shape, std::int64_t rows, std::uint64_t seed) {
  const CheckTimer timer(check(CheckId::cpu));
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
