#include "ternary/suite/verify_file.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/clock.h"
#include "base/result.h"
#include "ternary/layout.h"
#include "ternary/packed.h"
#include "ternary/suite/verify_subject.h"

namespace gpuready::ternary {
namespace {

constexpr std::int64_t kRows = 2;

void wrong(TensorResult& tensor, CheckStatus status, std::string reason) {
  tensor.status = status;
  tensor.reason = std::move(reason);
}

// The bytes that hold codes and scales. bitnet.cpp leaves whatever was in memory behind a tensor's
// scale, and rows of QK256 may end in padding of any content.
std::size_t bytes_with_content(const EncodedView& view) {
  const auto size = encoded_size(view.format, view.shape, view.tiling);
  const Format& f = format(view.format);
  if (!size || f.four_levels) return 0;
  return f.scales_inside && f.scale_block == 0 ? size->code_bytes + sizeof(float) : size->bytes;
}

// What is encoded again must be what was read, scales beside included.
bool round_trip(const EncodedView& view, const Codes& codes, TensorResult& tensor) {
  EncodeOptions options;
  if (format(view.format).needs_tiling) options.tiling = view.tiling;
  const auto again = encode(codes, view.format, options);
  if (!again) {
    wrong(tensor, CheckStatus::failed, "it does not encode again: " + again.error().message);
    return false;
  }
  const auto end = again->bytes.begin() + static_cast<std::ptrdiff_t>(bytes_with_content(view));
  const auto differs = std::mismatch(again->bytes.begin(), end, view.bytes.begin());
  if (differs.first != end) {
    wrong(tensor, CheckStatus::failed,
          "byte " + std::to_string(differs.first - again->bytes.begin()) +
              " is not what an encoder of this format writes");
    return false;
  }
  if (!std::equal(again->scales.begin(), again->scales.end(), view.scales.begin(),
                  view.scales.end())) {
    wrong(tensor, CheckStatus::failed, "its scales are not what an encoder of this format writes");
    return false;
  }
  return true;
}

// Weights of a tensor that are multiplied at once: its rows are taken in runs, so that memory does
// not grow with the tensor.
constexpr std::int64_t kWeightsAtOnce = std::int64_t{4} << 20;
// All outputs of all forms of this many weights of a file are compared, of the rest only f32, by
// one form after the other: files that are made of short rows or small tensors would take several
// times as long as others of their size.
constexpr std::int64_t kWeightsInFull = std::int64_t{8} << 20;
// A product of fewer takes as long as one of this many.
constexpr std::int64_t kLeastWeights = 4096;
// The packed form has whole blocks: rows much shorter than one would take many times their size.
constexpr std::int64_t kLeastCols = 32;
// And a run of rows fills at least one panel: else most of the packing and multiplying would be of
// padding. Models have no such rows.
constexpr std::int64_t kMostVerifiedCols = kWeightsAtOnce / kernels::kPanelRows;
static_assert(kMostVerifiedCols <= kMostCols);

// Why products of this tensor cannot be verified; empty where they can.
std::string why_not_multiplied(const Codes& codes) {
  if (codes.shape.cols < kLeastCols)
    return "its products were not verified: it has rows of " + std::to_string(codes.shape.cols) +
           " weights, and " + std::to_string(kLeastCols) + " are the least";
  if (codes.shape.cols > kMostVerifiedCols)
    return "its products were not verified: it has rows of " + std::to_string(codes.shape.cols) +
           " weights, and " + std::to_string(kMostVerifiedCols) + " are the most";
  return {};
}

// Some rows with the scales of their weights, activations, and the right answers. `group` is
// scale_group_of() the whole tensor, whose form they have.
Result<PackedProblem> problem_of(Problem& problem, const Codes& codes, std::int64_t group,
                                 std::int64_t first_row, std::int64_t rows, std::uint64_t seed) {
  const std::int64_t cols = codes.shape.cols;
  Codes& some = problem.weights;
  some.shape = {rows, cols};
  const auto begin = codes.values.begin() + first_row * cols;
  some.values.assign(begin, begin + rows * cols);
  problem.group = group;
  if (group == 0) {
    some.scale_block = cols;
    some.scales = TRY(scales_by_row(codes, first_row, rows));
  } else {
    const auto scales = codes.scales.begin() + first_row * cols / group;
    some.scale_block = group;
    some.scales.assign(scales, scales + rows * cols / group);
  }
  problem.spec = {kRows, rows, cols};
  Numbers numbers(seed);
  problem.y.resize(static_cast<std::size_t>(kRows * cols));
  for (std::int8_t& y : problem.y) y = static_cast<std::int8_t>(numbers.between(-128, 127));
  problem.steps = {0.0078125f, 0.0123f};
  problem.solve();
  return pack_problem(problem);
}

std::string first_failure(const SubjectRun& run) {
  for (const CheckResult& check : run.results())
    if (check.status == CheckStatus::failed) return check.check + ": " + check.reason;
  return {};
}

}  // namespace

VerifyReport verify_file(std::span<const Subject> subjects, std::span<const TensorInput> tensors,
                         const VerifyOptions& options) {
  const auto start = Clock::now();
  VerifyReport report;
  report.seed = options.seed;
  struct Tried {
    const Subject* subject;
    std::unique_ptr<Backend> backend;
    CheckResult check;
    std::vector<std::string> kernels;
    std::string device;
    std::uint64_t unsupported = 0;  // tensors that it has no product for
    bool alive = true;
  };
  std::vector<Tried> tried;
  std::vector<SubjectResult> untried;
  for (const Subject& subject : subjects) {
    auto backend = subject.open ? subject.open()
                                : Result<std::unique_ptr<Backend>>(
                                      std::unexpected(Error{ErrorKind::no_device, subject.reason}));
    if (backend) {
      tried.push_back({&subject, std::move(*backend), {}, {}, {}});
      tried.back().check.subject = subject.name;
      tried.back().check.check = kFileCheck;
      tried.back().device = tried.back().backend->info().name;
      continue;
    }
    SubjectResult result;
    result.name = subject.name;
    result.reason = backend.error().message;
    result.asked = subject.asked;
    untried.push_back(std::move(result));
  }
  std::uint64_t seed = options.seed;
  std::int64_t weights_done = 0;
  for (const TensorInput& input : tensors) {
    TensorResult tensor;
    tensor.name = input.name;
    if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed)) {
      wrong(tensor, CheckStatus::not_tested, std::string(kInterrupted));
      report.tensors.push_back(std::move(tensor));
      continue;
    }
    options.progress(input.name);
    const auto view = input.read();
    if (!view) {
      wrong(tensor, CheckStatus::failed, view.error().message);
      report.tensors.push_back(std::move(tensor));
      continue;
    }
    tensor.format = format(view->format).name;
    tensor.shape = view->shape;
    auto codes = decode(*view);
    if (!codes) {
      const bool four_levels = codes.error().kind == ErrorKind::not_ternary;
      wrong(tensor, four_levels ? CheckStatus::not_supported : CheckStatus::failed,
            codes.error().message);
      report.tensors.push_back(std::move(tensor));
      continue;
    }
    tensor.status = CheckStatus::passed;
    (void)round_trip(*view, *codes, tensor);
    if (const std::string why = why_not_multiplied(*codes); !why.empty()) {
      if (tensor.status == CheckStatus::passed) wrong(tensor, CheckStatus::not_supported, why);
      report.tensors.push_back(std::move(tensor));
      continue;
    }
    const auto group = scale_group_of(*codes);
    if (!group) {
      if (tensor.status == CheckStatus::passed)
        wrong(tensor, CheckStatus::not_supported,
              "its products were not verified: " + group.error().message);
      report.tensors.push_back(std::move(tensor));
      continue;
    }
    bool counted = false;
    const std::int64_t step = std::max<std::int64_t>(1, kWeightsAtOnce / codes->shape.cols);
    for (std::int64_t row = 0; row < codes->shape.rows; row += step) {
      if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed)) {
        if (tensor.status == CheckStatus::passed)
          wrong(tensor, CheckStatus::not_tested, std::string(kInterrupted));
        break;
      }
      Problem problem;
      const auto packed =
          problem_of(problem, *codes, *group, row, std::min(step, codes->shape.rows - row), ++seed);
      if (!packed) {
        if (tensor.status == CheckStatus::passed)
          wrong(tensor, CheckStatus::failed, packed.error().message);
        break;
      }
      std::optional<Form> f32_of;
      if (weights_done >= kWeightsInFull)
        f32_of = seed % 2 || *group != 0 ? Form::two_bit : Form::three_trits;
      weights_done += std::max(kLeastWeights, packed->problem.spec.n * packed->problem.spec.k);
      for (Tried& one : tried) {
        if (!one.alive) continue;
        SubjectRun run(*one.subject, std::move(one.backend));
        run.products(*packed, f32_of);
        if (run.offers_nothing()) {
          one.unsupported += !counted;
          one.backend = run.take_backend();
          continue;
        }
        if (!counted) ++one.check.cases;
        for (const CheckResult& check : run.results()) one.check.elements += check.elements;
        for (const CheckResult& check : run.results()) one.check.duration_ms += check.duration_ms;
        for (const std::string& kernel : run.summary().kernels)
          if (std::find(one.kernels.begin(), one.kernels.end(), kernel) == one.kernels.end())
            one.kernels.push_back(kernel);
        if (const std::string failure = first_failure(run); !failure.empty()) {
          if (one.check.wrong++ == 0) one.check.reason = input.name + ", " + failure;
          if (tensor.status == CheckStatus::passed)
            wrong(tensor, CheckStatus::failed, one.subject->name + ", " + failure);
        }
        one.alive = run.alive();
        one.backend = run.take_backend();
      }
      if (!counted) ++report.problems;
      counted = true;
    }
    report.tensors.push_back(std::move(tensor));
  }
  const bool interrupted = std::ranges::any_of(
      report.tensors, [](const TensorResult& tensor) { return tensor.reason == kInterrupted; });
  for (Tried& one : tried) {
    one.check.status = one.check.wrong > 0   ? CheckStatus::failed
                       : one.check.cases > 0 ? CheckStatus::passed
                                             : CheckStatus::not_tested;
    if (interrupted && one.check.wrong == 0) {
      one.check.status = CheckStatus::not_tested;
      one.check.reason = kInterrupted;
    } else if (one.unsupported > 0 && one.check.wrong == 0) {
      one.check.status = CheckStatus::not_tested;
      one.check.reason = std::to_string(one.unsupported) +
                         " of the tensors have scales by group, which it does not multiply";
    } else if (one.check.cases == 0)
      one.check.reason = "the file has no ternary tensor whose products can be verified";
    SubjectResult result;
    result.name = one.subject->name;
    result.device = one.device;
    result.kernels = std::move(one.kernels);
    result.asked = one.subject->asked;
    report.subjects.push_back(std::move(result));
    report.checks.push_back(std::move(one.check));
  }
  report.subjects.insert(report.subjects.end(), std::make_move_iterator(untried.begin()),
                         std::make_move_iterator(untried.end()));
  judge(report);
  report.duration_ms = elapsed_ms(start);
  return report;
}

}  // namespace gpuready::ternary
