#include "ternary/report/exit_rules.h"

#include "report/exit_rule_table.h"

namespace gpuready {
namespace {

using namespace exit_rules;
using ternary::BenchRow;
using ternary::CheckStatus;
using ternary::SubjectResult;
using ternary::VerifyReport;

// What was found and chosen by itself is asked for too.
bool wanted(const SubjectResult& subject) { return subject.asked || !subject.device.empty(); }

bool named(const BenchOutcome& outcome, const BenchRow& row) {
  return row.subject.starts_with("cpu/") ? outcome.tiers_named : outcome.devices_named;
}

constexpr ExitRule<VerifyReport> kVerify[] = {
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

constexpr ExitRule<BenchOutcome> kBench[] = {
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

constexpr ExitRule<ternary::gguf::FileReport> kInspect[] = {
    {[](const ternary::gguf::FileReport& r) { return !r.problems.empty(); }, Exit::unhealthy},
};

// A file that cannot be converted without loss is bad input.
constexpr ExitRule<ternary::gguf::ConvertReport> kConvert[] = {
    {[](const ternary::gguf::ConvertReport& r) { return !r.failed.empty(); }, Exit::usage},
    {[](const ternary::gguf::ConvertReport& r) { return r.converted.empty(); }, Exit::usage},
};

}  // namespace

Exit exit_of(const VerifyReport& report) { return first_that_holds(kVerify, report); }
Exit exit_of(const BenchOutcome& outcome) { return first_that_holds(kBench, outcome); }
Exit exit_of(const ternary::gguf::FileReport& report) { return first_that_holds(kInspect, report); }
Exit exit_of(const ternary::gguf::ConvertReport& report) {
  return first_that_holds(kConvert, report);
}

}  // namespace gpuready
