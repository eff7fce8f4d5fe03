#include "report/exit_rules.h"

#include <algorithm>

namespace gpuready {
namespace {

using ternary::BenchRow;
using ternary::CheckStatus;
using ternary::SubjectResult;
using ternary::VerifyReport;

template <class Outcome>
struct Rule {
  bool (*holds)(const Outcome& outcome);
  Exit exit;
};

template <class Outcome, std::size_t N>
Exit first_that_holds(const Rule<Outcome> (&rules)[N], const Outcome& outcome) {
  for (const auto& rule : rules)
    if (rule.holds(outcome)) return rule.exit;
  return Exit::ok;
}

template <class List, class Test>
bool any(const List& list, Test test) {
  return std::any_of(list.begin(), list.end(), test);
}
template <class List>
bool any_has(const List& list, auto status) {
  return any(list, [&](const auto& item) { return item.status == status; });
}

using Rows = std::span<const SelfTestRow>;

// What was found and chosen by itself is asked for too.
bool wanted(const SubjectResult& subject) { return subject.asked || !subject.device.empty(); }

bool named(const BenchOutcome& outcome, const BenchRow& row) {
  return row.subject.starts_with("cpu/") ? outcome.tiers_named : outcome.devices_named;
}

constexpr Rule<MachineTally> kMachine[] = {
    {[](const MachineTally& t) { return t.failed || t.errors > 0 || t.degraded > 0; },
     Exit::unhealthy},
    {[](const MachineTally& t) { return t.usable < t.gpus; }, Exit::unhealthy},
    {[](const MachineTally& t) { return t.usable < t.required.value_or(0); },
     Exit::required_absent},
    {[](const MachineTally& t) { return t.unmet; }, Exit::required_absent},
    {[](const MachineTally& t) { return t.gpus == 0 && t.bus_unread; }, Exit::unknown},
    {[](const MachineTally& t) { return t.unknown || (t.tested && t.ready < t.gpus); },
     Exit::unknown},
    {[](const MachineTally& t) { return t.named_libraries; }, Exit::unknown},
};

constexpr Rule<Rows> kSelfTest[] = {
    {[](const Rows& rows) { return any_has(rows, VerdictStatus::failed); }, Exit::unhealthy},
    {[](const Rows& rows) {
       using enum VerdictStatus;
       return any_has(rows, not_tested) || any_has(rows, timed_out) || any_has(rows, inconclusive);
     },
     Exit::unknown},
    {[](const Rows& rows) { return !any_has(rows, VerdictStatus::passed); }, Exit::unknown},
};

constexpr Rule<VerifyReport> kVerify[] = {
    {[](const VerifyReport& r) {
       return any_has(r.checks, CheckStatus::failed) || any_has(r.tensors, CheckStatus::failed) ||
              any_has(r.subjects, CheckStatus::failed) || !r.file_problems.empty();
     },
     Exit::unhealthy},
    {[](const VerifyReport& r) {
       return any(r.subjects, [](const SubjectResult& s) {
         return s.status == CheckStatus::timed_out ||
                (s.status != CheckStatus::passed && wanted(s));
       });
     },
     Exit::unknown},
    {[](const VerifyReport& r) { return any_has(r.tensors, CheckStatus::not_tested); },
     Exit::unknown},
    {[](const VerifyReport& r) { return any_has(r.tensors, CheckStatus::not_supported); },
     Exit::unknown},
    {[](const VerifyReport& r) { return !any_has(r.subjects, CheckStatus::passed); },
     Exit::unknown},
};

constexpr Rule<BenchOutcome> kBench[] = {
    {[](const BenchOutcome& o) { return any_has(o.rows, CheckStatus::failed); }, Exit::unhealthy},
    {[](const BenchOutcome& o) { return any_has(o.rows, CheckStatus::timed_out); }, Exit::unknown},
    {[](const BenchOutcome& o) {
       return any(o.rows, [&](const BenchRow& row) {
         return row.status == CheckStatus::not_tested && named(o, row);
       });
     },
     Exit::unknown},
    {[](const BenchOutcome& o) { return !any_has(o.rows, CheckStatus::passed); }, Exit::unknown},
};

constexpr Rule<ternary::gguf::FileReport> kInspect[] = {
    {[](const ternary::gguf::FileReport& r) { return !r.problems.empty(); }, Exit::unhealthy},
};

// A file that cannot be converted without loss is bad input.
constexpr Rule<ternary::gguf::ConvertReport> kConvert[] = {
    {[](const ternary::gguf::ConvertReport& r) { return !r.failed.empty(); }, Exit::usage},
    {[](const ternary::gguf::ConvertReport& r) { return r.converted.empty(); }, Exit::usage},
};

// Runs that may not be compared are bad input.
bool any_stack(const bench::Comparison& comparison, bench::Outcome outcome) {
  return any(comparison.stacks, [&](const auto& stack) { return stack.outcome == outcome; });
}
constexpr Rule<BenchRun> kBenchRun[] = {
    {[](const BenchRun& r) { return r.sick; }, Exit::unhealthy},
    {[](const BenchRun& r) {
       using enum bench::StackStatus;
       return any(r.run.stacks, [&](const bench::StackResult& stack) {
         const bool was_run = r.run.is_whole() || !stack.repeats.empty();
         return (stack.status == error && was_run) || stack.status == different_work ||
                stack.status == not_believable;
       });
     },
     Exit::unhealthy},
    {[](const BenchRun& r) {
       return any(r.named, [&](const std::string& id) {
         const bench::StackResult* stack = r.run.stack(id);
         return stack != nullptr && stack->status == bench::StackStatus::unavailable;
       });
     },
     Exit::required_absent},
    {[](const BenchRun& r) { return !any_has(r.run.stacks, bench::StackStatus::ok); },
     Exit::unknown},
};

constexpr Rule<bench::Comparison> kCompare[] = {
    {[](const bench::Comparison& c) { return c.refused(); }, Exit::usage},
    {[](const bench::Comparison& c) {
       return any_stack(c, bench::Outcome::slower) || any_stack(c, bench::Outcome::lost);
     },
     Exit::unhealthy},
    {[](const bench::Comparison& c) {
       return c.stacks.empty() || any_stack(c, bench::Outcome::inconclusive);
     },
     Exit::unknown},
};

constexpr Rule<pack::Inspection> kPackInspect[] = {
    {[](const pack::Inspection& i) {
       return !i.problems.empty() ||
              any(i.files, [](const pack::FileReport& file) { return !file.problems.empty(); });
     },
     Exit::unhealthy},
};

constexpr Rule<DriversReport> kDrivers[] = {
    {[](const DriversReport& r) { return !r.problems.empty(); }, Exit::unhealthy},
};

constexpr Rule<FetchReport> kFetch[] = {
    {[](const FetchReport& r) { return !r.driver.problem.empty(); }, Exit::unhealthy},
};

constexpr Rule<UpgradeReport> kUpgrade[] = {
    {[](const UpgradeReport& r) { return !r.switched; }, Exit::unhealthy},
};

constexpr Rule<CompatReport> kCompat[] = {
    {[](const CompatReport& r) { return r.cuda.fit == vm::CudaFit::too_old; }, Exit::unhealthy},
    {[](const CompatReport& r) {
       return any(r.image_libraries, [&](const vm::ImageLibrary& library) {
         return !library.compat && library.version != r.cuda.driver_version;
       });
     },
     Exit::unhealthy},
    {[](const CompatReport& r) { return r.gpu && r.gpu->served == false; }, Exit::unhealthy},
    {[](const CompatReport& r) {
       return r.cuda.fit == vm::CudaFit::unknown || (r.gpu && !r.gpu->served);
     },
     Exit::unknown},
};

constexpr Rule<VmDevices> kVmDevices[] = {
    {[](const VmDevices& d) { return d.inventory.bus_unread.has_value(); }, Exit::unknown},
};

constexpr Rule<VmDoctorReport> kVmDoctor[] = {
    {[](const VmDoctorReport& r) {
       return any(r.findings, [](const Finding& f) { return f.severity == Severity::error; });
     },
     Exit::unhealthy},
    {[](const VmDoctorReport& r) { return r.bus_unread.has_value(); }, Exit::unknown},
    {[](const VmDoctorReport& r) {
       return r.console && r.console->state == vm::ConsoleState::unknown;
     },
     Exit::unknown},
};

constexpr Rule<Explanation> kPackExplain[] = {
    {[](const Explanation& e) { return !e.problems.empty(); }, Exit::unhealthy},
    {[](const Explanation& e) {
       return any(e.answers, [](const auto& file) {
         return any(file, [](const auto& answer) { return answer.runs == pack::Runs::none; });
       });
     },
     Exit::unhealthy},
};

constexpr Rule<bench::Promotion> kPromote[] = {
    {[](const bench::Promotion& p) { return p.refused(); }, Exit::usage},
    {[](const bench::Promotion& p) { return p.decision == bench::Decision::reject; },
     Exit::unhealthy},
    {[](const bench::Promotion& p) { return p.decision != bench::Decision::promote; },
     Exit::unknown},
};

constexpr Rule<VmTally> kVm[] = {
    {[](const VmTally& t) { return t.unfinished; }, Exit::unknown},
    {[](const VmTally& t) { return t.absent; }, Exit::required_absent},
    {[](const VmTally& t) { return t.refused || t.failed || t.unclean; }, Exit::unhealthy},
};

using pack::InstallEnd;
using pack::InstallOutcome;

constexpr Rule<Error> kError[] = {
    {[](const Error& e) { return e.kind == ErrorKind::cancelled; }, Exit::interrupted},
    {[](const Error& e) { return e.kind == ErrorKind::bad_input; }, Exit::usage},
    {[](const Error&) { return true; }, Exit::unknown},
};

constexpr Rule<Error> kVmError[] = {
    {[](const Error& e) { return e.kind == ErrorKind::cancelled; }, Exit::interrupted},
    {[](const Error& e) { return e.kind == ErrorKind::not_found; }, Exit::required_absent},
    {[](const Error& e) { return e.kind == ErrorKind::busy; }, Exit::unknown},
    {[](const Error& e) {
       return e.kind == ErrorKind::bad_input || e.kind == ErrorKind::no_permission;
     },
     Exit::usage},
    {[](const Error&) { return true; }, Exit::unhealthy},
};

// What is not trusted, or does not load, is unhealthy.
constexpr Rule<InstallOutcome> kInstall[] = {
    {[](const InstallOutcome& o) {
       return o.end == InstallEnd::refused || o.end == InstallEnd::not_loaded;
     },
     Exit::unhealthy},
    {[](const InstallOutcome& o) { return o.end == InstallEnd::failed && !o.error; },
     Exit::unknown},
};

constexpr Rule<pack::Selection> kSelect[] = {
    {[](const pack::Selection& s) { return s.variants.empty(); }, Exit::required_absent},
};

constexpr Rule<EnvReport> kEnv[] = {
    {[](const EnvReport& r) { return !r.right; }, Exit::unhealthy},
};

using Built = std::span<const pack::BuiltVariant>;
constexpr Rule<Built> kBuilt[] = {
    {[](const Built& variants) {
       return any(variants, [](const auto& built) { return !pack::problems_of(built).empty(); });
     },
     Exit::unhealthy},
};

}  // namespace

Exit exit_of(const VmDevices& devices) { return first_that_holds(kVmDevices, devices); }
Exit exit_of(const VmTally& tally) { return first_that_holds(kVm, tally); }
Exit exit_of(const MachineTally& tally) { return first_that_holds(kMachine, tally); }
Exit exit_of(std::span<const SelfTestRow> rows) { return first_that_holds(kSelfTest, rows); }
Exit exit_of(const VerifyReport& report) { return first_that_holds(kVerify, report); }
Exit exit_of(const BenchOutcome& outcome) { return first_that_holds(kBench, outcome); }
Exit exit_of(const ternary::gguf::FileReport& report) { return first_that_holds(kInspect, report); }
Exit exit_of(const ternary::gguf::ConvertReport& report) {
  return first_that_holds(kConvert, report);
}
Exit exit_of(const BenchRun& outcome) { return first_that_holds(kBenchRun, outcome); }

Exit exit_of(const bench::Comparison& comparison) { return first_that_holds(kCompare, comparison); }
Exit exit_of(const DriversReport& report) { return first_that_holds(kDrivers, report); }
Exit exit_of(const FetchReport& report) { return first_that_holds(kFetch, report); }
Exit exit_of(const UpgradeReport& report) { return first_that_holds(kUpgrade, report); }
Exit exit_of(const CompatReport& report) { return first_that_holds(kCompat, report); }
Exit exit_of(const VmDoctorReport& report) { return first_that_holds(kVmDoctor, report); }
Exit exit_of(const bench::Promotion& promotion) { return first_that_holds(kPromote, promotion); }

Exit exit_of(const pack::Inspection& inspection) {
  return first_that_holds(kPackInspect, inspection);
}
Exit exit_of(const Explanation& explanation) { return first_that_holds(kPackExplain, explanation); }

Exit exit_of_error(const Error& error) { return first_that_holds(kError, error); }
Exit exit_of_vm_error(const Error& error) { return first_that_holds(kVmError, error); }
Exit exit_of(const pack::InstallOutcome& outcome) {
  if (outcome.end == InstallEnd::failed && outcome.error) return exit_of_error(*outcome.error);
  return first_that_holds(kInstall, outcome);
}
Exit exit_of(const pack::Selection& selection) { return first_that_holds(kSelect, selection); }
Exit exit_of(const EnvReport& report) { return first_that_holds(kEnv, report); }
Exit exit_of(Built variants) { return first_that_holds(kBuilt, variants); }

}  // namespace gpuready
