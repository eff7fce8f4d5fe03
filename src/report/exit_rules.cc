#include "report/exit_rules.h"

#include "report/exit_rule_table.h"

namespace gpuready {
namespace {

using namespace exit_rules;

constexpr ExitRule<MachineTally> kMachine[] = {
    {[](const MachineTally& t) { return t.failed || t.errors > 0 || t.degraded > 0; },
     Exit::unhealthy},
    {[](const MachineTally& t) { return t.usable < t.gpus; }, Exit::unhealthy},
    {[](const MachineTally& t) { return t.usable < t.required.value_or(0); },
     Exit::required_absent},
    {[](const MachineTally& t) { return t.unmet; }, Exit::required_absent},
    {[](const MachineTally& t) { return t.gpus == 0 && t.bus_unread; }, Exit::unknown},
    {[](const MachineTally& t) { return t.not_judged; }, Exit::unknown},
    {[](const MachineTally& t) { return t.unknown || (t.tested && t.ready < t.gpus); },
     Exit::unknown},
    {[](const MachineTally& t) { return t.named_libraries; }, Exit::unknown},
};

using Rows = std::span<const SelfTestRow>;

constexpr ExitRule<Rows> kSelfTest[] = {
    {[](const Rows& rows) { return any_has(rows, VerdictStatus::failed); }, Exit::unhealthy},
    {[](const Rows& rows) {
       using enum VerdictStatus;
       return any_has(rows, not_tested) || any_has(rows, timed_out) || any_has(rows, inconclusive);
     },
     Exit::unknown},
    {[](const Rows& rows) { return !any_has(rows, VerdictStatus::passed); }, Exit::unknown},
};

constexpr ExitRule<Standing> kStatus[] = {
    {[](const Standing& s) { return s == Standing::bad; }, Exit::unhealthy},
    {[](const Standing& s) { return s == Standing::absent; }, Exit::required_absent},
    {[](const Standing& s) { return s != Standing::good; }, Exit::unknown},
};

constexpr ExitRule<Error> kError[] = {
    {[](const Error& e) { return e.kind == ErrorKind::cancelled; }, Exit::interrupted},
    {[](const Error& e) { return e.kind == ErrorKind::bad_input; }, Exit::usage},
    {[](const Error&) { return true; }, Exit::unknown},
};

}  // namespace

Exit exit_of(const MachineTally& tally) { return first_that_holds(kMachine, tally); }
Exit exit_of(std::span<const SelfTestRow> rows) { return first_that_holds(kSelfTest, rows); }
Exit exit_of(const Standing& standing) { return first_that_holds(kStatus, standing); }
Exit exit_of_error(const Error& error) { return first_that_holds(kError, error); }

}  // namespace gpuready
