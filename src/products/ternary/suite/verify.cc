#include "ternary/suite/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/clock.h"
#include "base/text.h"
#include "ternary/device/cpu_backend.h"
#include "ternary/suite/verify_subject.h"

namespace gpuready::ternary {
namespace {

bool stopped(const VerifyOptions& options) {
  return options.stop != nullptr && options.stop->load(std::memory_order_relaxed);
}

using Runs = std::vector<std::unique_ptr<SubjectRun>>;

template <class Step>
void for_each_alive(Runs& runs, Step step) {
  for (auto& run : runs)
    if (run->alive()) step(*run);
}

using Ended = std::set<std::string_view>;  // checks of which no part is missing

void small_checks(Runs& runs, const VerifyOptions& options, Ended& ended) {
  options.progress("packing");
  std::uint64_t seed = options.seed * 7919;
  for (std::int64_t k = 1; k <= (options.thorough ? 300 : 140) && !stopped(options); ++k, ++seed)
    for_each_alive(runs, [&](SubjectRun& run) { run.packing(k % 35 + 1, k, seed); });
  if (stopped(options)) return;
  for_each_alive(runs, [&](SubjectRun& run) { run.packing(70, 385, seed); });
  ended.insert("packing");
  options.progress("activations that are quantised");
  const std::vector<ProblemSpec> specs = {{1, 17, 1},   {1, 33, 127}, {2, 16, 128},
                                          {3, 5, 129},  {4, 40, 300}, {7, 19, 64},
                                          {9, 65, 257}, {33, 20, 96}, {5, 100, 4100}};
  for (const FloatType type : {FloatType::f32, FloatType::f16, FloatType::bf16})
    for (const ProblemSpec& spec : specs) {
      if (stopped(options)) return;
      for_each_alive(runs, [&](SubjectRun& run) { run.values(spec, type, ++seed); });
    }
  ended.insert("values");
  options.progress("bias, residual and f16");
  for (const std::int64_t group : {0, 32, 128})
    for (const ProblemSpec& spec :
         {ProblemSpec{1, 33, 129}, ProblemSpec{1, 300, 1100}, ProblemSpec{3, 40, 300},
          ProblemSpec{9, 65, 257}, ProblemSpec{20, 161, 500}, ProblemSpec{130, 300, 256}}) {
      if (stopped(options)) return;
      for_each_alive(runs, [&](SubjectRun& run) { run.epilogue(spec, group, seed); });
      ++seed;
    }
  ended.insert("epilogue");
  options.progress("quantised weights");
  for (const FloatType type : {FloatType::f32, FloatType::f16, FloatType::bf16})
    for (const Shape shape : {Shape{4, 512}, Shape{32, 1536}, Shape{3, 256}}) {
      if (stopped(options)) return;
      for_each_alive(runs, [&](SubjectRun& run) { run.quantise(shape, type, seed); });
      ++seed;
    }
  // Tails of steps, of pieces, of runs of pieces and of what a thread takes at once.
  for (const FloatType type : {FloatType::f32, FloatType::f16, FloatType::bf16})
    for (const Shape shape : {Shape{1, 64}, Shape{1, 128}, Shape{9, 128}, Shape{17, 192},
                              Shape{130, 2112}, Shape{257, 1088}}) {
      if (stopped(options)) return;
      for_each_alive(runs, [&](SubjectRun& run) { run.absmean(shape, type, seed); });
      ++seed;
    }
  ended.insert("quantise");
  options.progress("accuracy and refusals");
  for (const Shape shape : {Shape{64, 4096}, Shape{96, 2560}, Shape{40, 300}}) {
    if (stopped(options)) return;
    for_each_alive(runs, [&](SubjectRun& run) { run.accuracy(shape, 4, seed); });
    for_each_alive(runs, [&](SubjectRun& run) { run.accuracy(shape, 1, seed + 1); });
    seed += 2;
  }
  for_each_alive(runs, [&](SubjectRun& run) { run.refusals(); });
  ended.insert({"accuracy", "refusals"});
}

void against_the_cpu(Runs& runs, const VerifyOptions& options, Ended& ended) {
  const auto is_device = [](const auto& run) {
    return run->backend().info().kind != BackendKind::cpu;
  };
  if (std::none_of(runs.begin(), runs.end(), is_device)) return;
  options.progress("devices against the CPU");
  EngineOptions best;
  const auto cpu = make_cpu_backend(best);
  if (!cpu) return;
  struct Large {
    Shape shape;
    std::int64_t rows;
  };
  for (const Large& large : {Large{{4096, 4096}, 1}, Large{{2560, 6912}, 5},
                             Large{{3072, 2048}, 130}, Large{{1111, 3333}, 77}}) {
    if (stopped(options)) return;
    for (auto& run : runs)
      if (run->alive() && is_device(run))
        run->against(**cpu, large.shape, large.rows, options.seed + 5);
  }
  ended.insert("cpu");
}

CheckStatus worse(CheckStatus a, CheckStatus b) {
  constexpr CheckStatus kOrder[] = {CheckStatus::failed, CheckStatus::timed_out,
                                    CheckStatus::not_tested, CheckStatus::passed,
                                    CheckStatus::not_supported};
  for (const CheckStatus status : kOrder)
    if (a == status || b == status) return status;
  return a;
}

}  // namespace

std::vector<Subject> cpu_subjects(unsigned threads) {
  std::vector<Subject> subjects;
  for (const TierStatus& status : tiers()) {
    Subject subject;
    subject.name = "cpu/" + std::string(to_string(status.tier));
    subject.reason = status.reason;
    if (status.available)
      subject.open = [tier = status.tier, threads] {
        EngineOptions options;
        options.tier = tier;
        options.strict = true;
        options.threads = threads;
        return make_cpu_backend(options);
      };
    subjects.push_back(std::move(subject));
  }
  return subjects;
}

std::vector<Subject> gpu_subjects(std::span<const Target> targets) {
  constexpr TargetKind kAll[] = {TargetKind::cuda, TargetKind::vulkan};
  std::vector<Target> wanted(targets.begin(), targets.end());
  const bool asked = !wanted.empty();
  if (!asked)
    for (const TargetKind kind : kAll) wanted.push_back({kind, {}});
  std::vector<Subject> subjects;
  const auto faked = faked_by();
  for (const Target& target : wanted) {
    const std::size_t before = subjects.size();
    Discovery found;
    if (faked)
      found.reasons.push_back(*faked + " is set: what is faked executes nothing");
    else
      found = discover_gpus(target);
    for (GpuCandidate& gpu : found.gpus) {
      const bool named = target.id.empty() || equals_ignore_case(target.id, gpu.id) ||
                         target.id == std::to_string(gpu.index);
      if (!named) continue;
      Subject subject;
      subject.name = std::string(to_string(gpu.kind)) + ":" + gpu.id;
      subject.asked = asked;
      if (gpu.software && !asked)
        subject.reason = gpu.name + " is software; --device vulkan tests it";
      else
        subject.open = std::move(gpu.open);
      subjects.push_back(std::move(subject));
    }
    if (subjects.size() > before) continue;
    Subject missing;
    missing.name = to_string(target);
    missing.asked = asked;
    for (const std::string& reason : found.reasons)
      missing.reason += (missing.reason.empty() ? "" : "; ") + reason;
    if (missing.reason.empty()) missing.reason = "no such device is here";
    subjects.push_back(std::move(missing));
  }
  return subjects;
}

VerifyReport verify(std::span<const Subject> subjects, const VerifyOptions& options) {
  const auto start = Clock::now();
  VerifyReport report;
  report.seed = options.seed;
  report.thorough = options.thorough;
  Runs runs;
  Ended ended;
  for (const Subject& subject : subjects) {
    std::string reason = subject.reason;
    if (subject.open) {
      options.progress("opening " + subject.name);
      auto backend = subject.open();
      if (backend) {
        runs.push_back(std::make_unique<SubjectRun>(subject, std::move(*backend)));
        continue;
      }
      reason = backend.error().message;
    }
    SubjectResult result;
    result.name = subject.name;
    result.reason = reason;
    result.asked = subject.asked;
    report.subjects.push_back(std::move(result));
  }
  if (!runs.empty()) {
    small_checks(runs, options, ended);
    const auto list = problem_list(options.thorough);
    std::uint64_t seed = options.seed * 1'000'003;
    for (const ProblemSpec& spec : list) {
      if (stopped(options)) break;
      if (report.problems % 50 == 0)
        options.progress(fmt::format("product {} of {}", report.problems, list.size()));
      const Problem problem = make_problem(spec, ++seed);
      const auto packed = pack_problem(problem);
      if (!packed) {
        CheckResult broken;
        broken.subject = "host";
        broken.check = "packing";
        broken.status = CheckStatus::failed;
        broken.reason = to_string(spec) + ": " + packed.error().message;
        report.checks.push_back(std::move(broken));
        break;
      }
      for_each_alive(runs, [&](SubjectRun& run) { run.products(*packed); });
      ++report.problems;
    }
    if (report.problems == list.size()) ended.insert({"int32", "f32", "bf16"});
    if (!stopped(options)) against_the_cpu(runs, options, ended);
  }
  std::vector<SubjectResult> tested;
  for (const auto& run : runs) {
    tested.push_back(run->summary());
    for (CheckResult& check : run->results()) {
      // Half of a list that was not ended says nothing about the rest.
      const bool told = check.status == CheckStatus::failed || !run->alive();
      if (stopped(options) && !told && !ended.contains(check.check)) {
        check.status = CheckStatus::not_tested;
        check.reason = kInterrupted;
      }
      report.checks.push_back(std::move(check));
    }
  }
  report.subjects.insert(report.subjects.begin(), std::make_move_iterator(tested.begin()),
                         std::make_move_iterator(tested.end()));
  judge(report);
  report.duration_ms = elapsed_ms(start);
  return report;
}

void judge(VerifyReport& report) {
  for (SubjectResult& subject : report.subjects) {
    std::optional<CheckStatus> status;
    for (const CheckResult& check : report.checks) {
      if (check.subject != subject.name) continue;
      if (!status || worse(*status, check.status) != *status) {
        status = worse(status.value_or(check.status), check.status);
        if (*status == check.status && *status != CheckStatus::passed)
          subject.reason = std::string(check.check) + ": " + check.reason;
      }
    }
    if (status) subject.status = *status;
    if (subject.status == CheckStatus::passed) subject.reason.clear();
  }
}

}  // namespace gpuready::ternary
