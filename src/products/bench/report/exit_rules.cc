#include "bench/report/exit_rules.h"

#include "report/exit_rule_table.h"

namespace gpuready {
namespace {

using namespace exit_rules;

constexpr ExitRule<BenchRun> kBenchRun[] = {
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

// Runs that may not be compared are bad input.
bool any_stack(const bench::Comparison& comparison, bench::Outcome outcome) {
  return any(comparison.stacks, [&](const auto& stack) { return stack.outcome == outcome; });
}
constexpr ExitRule<bench::Comparison> kCompare[] = {
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

constexpr ExitRule<bench::Promotion> kPromote[] = {
    {[](const bench::Promotion& p) { return p.refused(); }, Exit::usage},
    {[](const bench::Promotion& p) { return p.decision == bench::Decision::reject; },
     Exit::unhealthy},
    {[](const bench::Promotion& p) { return p.decision != bench::Decision::promote; },
     Exit::unknown},
};

}  // namespace

Exit exit_of(const BenchRun& outcome) { return first_that_holds(kBenchRun, outcome); }
Exit exit_elsewhere(const Result<Envelope>& told) {
  return told && told->exit != Exit::interrupted ? told->exit : Exit::unknown;
}
Exit exit_of_run(const BenchRun& outcome, std::optional<Exit> elsewhere) {
  return unless_interrupted(elsewhere ? *elsewhere : exit_of(outcome), !outcome.run.is_whole());
}
Exit exit_of_run_error(ErrorKind kind) {
  return kind == ErrorKind::device      ? Exit::unhealthy  // a sick GPU
         : kind == ErrorKind::cancelled ? Exit::interrupted
                                        : Exit::usage;
}

Exit exit_of(const bench::Comparison& comparison) { return first_that_holds(kCompare, comparison); }
Exit exit_of(const bench::Promotion& promotion) { return first_that_holds(kPromote, promotion); }

}  // namespace gpuready
