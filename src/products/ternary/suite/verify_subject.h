// The checks of one subject of the validation suite.
#pragma once

#include <array>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ternary/suite/verify.h"
#include "ternary/suite/verify_problems.h"

namespace gpuready::ternary {

// In the order of kChecks.
enum class CheckId {
  packing,
  int32,
  f32,
  bf16,
  epilogue,
  values,
  quantise,
  accuracy,
  refusals,
  cpu
};
inline constexpr std::size_t kCheckCount = std::size(kChecks);

// Both packed forms of a problem's weights, made once for all subjects.
struct PackedProblem {
  const Problem& problem;
  std::vector<PackedWeights> forms;
  Activations activations;
};
Result<PackedProblem> pack_problem(const Problem& problem);

class SubjectRun {
 public:
  SubjectRun(const Subject& subject, std::unique_ptr<Backend> backend);

  const Backend& backend() const { return *backend_; }
  // A lost device is not asked any more.
  bool alive() const { return alive_; }
  // Every output of every form; or f32 of one form, which shows any wrong sum up to 2^24, and any
  // wrong scale.
  void products(const PackedProblem& packed, std::optional<Form> f32_of = {});
  // Whether products() found that the backend has none for such weights.
  bool offers_nothing() const;
  // Every type of output, with a bias and a residual of every type, and without. `group` as
  // Problem has it.
  void epilogue(const ProblemSpec& spec, std::int64_t group, std::uint64_t seed);
  void packing(std::int64_t n, std::int64_t k, std::uint64_t seed);
  void values(const ProblemSpec& spec, FloatType type, std::uint64_t seed);
  void quantise(Shape shape, FloatType type, std::uint64_t seed);
  void absmean(Shape shape, FloatType type, std::uint64_t seed);
  void accuracy(Shape shape, std::int64_t rows, std::uint64_t seed);
  void refusals();
  void against(Backend& cpu, Shape shape, std::int64_t rows, std::uint64_t seed);

  // One a check that this kind of subject has.
  std::vector<CheckResult> results() const;
  SubjectResult summary() const;
  std::unique_ptr<Backend> take_backend() { return std::move(backend_); }

 private:
  CheckResult& check(CheckId id) { return checks_[static_cast<std::size_t>(id)]; }
  void failed(CheckId id, const Error& error, const std::string& where);
  void refused(ErrorKind want, const Result<void>& got, const std::string& what);
  template <class T>
  void compare(CheckId id, std::span<const T> got, std::span<const T> want, std::int64_t cols,
               const std::string& where);
  std::unique_ptr<BackendWeights> load(CheckId id, const PackedWeights& weights,
                                       const std::string& where);
  void note_kernel(Shape weights, std::int64_t rows);

  const Subject& subject_;
  std::unique_ptr<Backend> backend_;
  std::array<CheckResult, kCheckCount> checks_;
  std::array<bool, kCheckCount> unsupported_{};
  std::set<std::string> kernels_;
  bool alive_ = true;
};

}  // namespace gpuready::ternary
