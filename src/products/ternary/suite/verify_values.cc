// The suite's checks of products from floats: activations of every type, accuracy, refusals.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "ternary/floats.h"
#include "ternary/suite/verify_compare.h"

namespace gpuready::ternary {
namespace {

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

void SubjectRun::values(const ProblemSpec& spec, FloatType type, std::uint64_t seed) {
  const CheckTimer timer(check(CheckId::values));
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

void SubjectRun::epilogue(const ProblemSpec& spec, std::int64_t group, std::uint64_t seed) {
  const CheckTimer timer(check(CheckId::epilogue));
  Problem p = make_problem(spec, seed);
  Numbers numbers(seed + 1);
  if (group != 0) {
    p.group = group;
    const auto groups = static_cast<std::size_t>((spec.k - 1) / group + 1);
    p.weights.scales.resize(static_cast<std::size_t>(spec.n) * groups);
    for (float& scale : p.weights.scales) scale = static_cast<float>(numbers.normal());
    // Each third row has one scale.
    for (std::size_t at = 0; at + groups <= p.weights.scales.size(); at += 3 * groups)
      std::fill_n(p.weights.scales.begin() + static_cast<std::ptrdiff_t>(at), groups,
                  p.weights.scales[at]);
    p.solve();
  }
  const std::string where =
      to_string(spec) + (group == 0 ? "" : ", groups of " + std::to_string(group));
  const auto packed = pack_problem(p);
  if (!packed) return failed(CheckId::epilogue, packed.error(), where);
  const auto weights = load(CheckId::epilogue, packed->forms[0], where);
  if (!weights) return;
  const auto some = [&](std::int64_t count, FloatType type) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = static_cast<float>(numbers.normal() * 3);
    return typed(std::move(values), type);
  };
  constexpr FloatType kTypes[] = {FloatType::f32, FloatType::f16, FloatType::bf16};
  for (const FloatType type : kTypes) {
    for (int with = 0; with < 4; ++with) {
      if (!alive_) return;
      // Each type of addend with each type of output, in two problems of one number more.
      const auto other = [&](std::size_t more) {
        return kTypes[(static_cast<std::size_t>(type) + seed + more) % 3];
      };
      const TypedValues bias = some(spec.n, other(0)), residual = some(spec.m * spec.n, other(1));
      Addends addends;
      if ((with & 1) != 0) addends.bias = bias.view(other(0));
      if ((with & 2) != 0) addends.residual = residual.view(other(1));
      const std::size_t cols = static_cast<std::size_t>(spec.n);
      std::vector<float> want = p.values;
      for (std::size_t i = 0; i < want.size(); ++i) {
        if ((with & 1) != 0) want[i] = want[i] + bias.values[i % cols];
        if ((with & 2) != 0) want[i] = want[i] + residual.values[i];
      }
      const std::string what = where + ", " + std::string(name_of(type)) +
                               ((with & 1) != 0 ? " with a bias" : "") +
                               ((with & 2) != 0 ? " with a residual" : "");
      const auto one = [&]<class T>(std::span<const T> right) {
        auto out = poisoned<T>(right.size());
        const auto done =
            backend_->multiply(*weights, packed->activations,
                               {output_of(type), std::as_writable_bytes(std::span(out)), addends});
        if (!done)
          failed(CheckId::epilogue, done.error(), what);
        else
          compare<T>(CheckId::epilogue, out, right, spec.n, what);
      };
      if (type == FloatType::f32) {
        one(std::span<const float>(want));
        continue;
      }
      std::vector<std::uint16_t> halves;
      for (const float value : want)
        halves.push_back(type == FloatType::f16 ? nearest_f16(value) : nearest_bf16(value));
      one(std::span<const std::uint16_t>(halves));
    }
  }
}

void SubjectRun::accuracy(Shape shape, std::int64_t rows, std::uint64_t seed) {
  CheckResult& c = check(CheckId::accuracy);
  const CheckTimer timer(c);
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
  if (nmse > c.nmse.value_or(-1) || std::isnan(nmse)) c.nmse = nmse;  // NaN stays
  if (!(nmse <= kMostNmse) && c.wrong++ == 0)
    c.reason = where + ": NMSE " + std::to_string(nmse) + " is over " + std::to_string(kMostNmse);
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
  const CheckTimer timer(check(CheckId::refusals));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Problem p = make_problem({3, 21, 150}, 11);
  const auto weights = load(CheckId::refusals, *PackedWeights::pack(p.weights), "refusals");
  if (!weights) return;
  const std::size_t count = 3 * 21;
  auto out = poisoned<float>(count);
  const auto untouched = out;
  const auto unchanged = [&](const std::string& what) {
    CheckResult& c = check(CheckId::refusals);
    const auto now = std::as_bytes(std::span(out)), before = std::as_bytes(std::span(untouched));
    if (!std::ranges::equal(now, before) && c.wrong++ == 0)
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

}  // namespace gpuready::ternary
