#include "report/kept_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "report/exit_rules.h"
#include "report/fields.h"
#include "value/about.h"
#include "value/action.h"

namespace gpuready {
namespace {

constexpr const char* kMachine = "the machine";
constexpr std::size_t kMostLineBytes = 80;

// What a state of a GPU decides; nothing: it keeps its result.
std::optional<Standing> decided(GpuState state) {
  switch (state) {
    case GpuState::ready:
    case GpuState::attention:
    case GpuState::in_part:
      return Standing::good;
    case GpuState::degraded:
    case GpuState::not_ready:
      return Standing::bad;
    case GpuState::unknown:
      return Standing::unknown;
    default:
      return std::nullopt;
  }
}

std::string subject_of(const Gpu& gpu) { return fmt::format("GPU {}", gpu.index); }

bool is_same_gpu(const KeptResult& kept, const Gpu& gpu) {
  if (kept.uuid && gpu.uuid) return kept.uuid == gpu.uuid;
  if (kept.pci || gpu.pci) return kept.pci == gpu.pci;
  return !kept.uuid && !gpu.uuid && kept.subject == subject_of(gpu);  // a Jetson's has neither
}

std::vector<std::string> tests_that(VerdictStatus status, const Report& report, const Gpu& gpu) {
  std::vector<std::string> tests;
  if (report.verdicts)
    for (const Verdict& verdict : *report.verdicts)
      if (verdict.status == status && is_about(verdict, gpu)) tests.push_back(verdict.test);
  std::ranges::sort(tests);
  tests.erase(std::ranges::unique(tests).begin(), tests.end());
  return tests;
}

// What failed of the tests that belong to a level, and the level that has them all.
void note_failures(KeptResult& now, const Report& report, const Gpu& gpu) {
  for (std::string& name : tests_that(VerdictStatus::failed, report, gpu)) {
    const HealthTest* test = find_health_test(name);
    if (!test || !test->from) continue;
    now.level = std::max(now.level, *test->from);
    now.failed.push_back(std::move(name));
  }
}

// The result of a subject after `now`, which is never_tested where nothing was decided; `passed`
// are the tests that passed then.
KeptResult after(const KeptResult& before, KeptResult now, bool whole,
                 const std::vector<std::string>& passed = {}) {
  if (now.standing == Standing::never_tested) return before;
  const bool was_bad = before.standing == Standing::bad;
  if (now.standing == Standing::bad) {
    now.hammer &= std::ranges::find(now.failed, "memory") != now.failed.end();
    if (!was_bad) return now;
    now.hammer |= before.hammer;
    now.level = std::max(now.level, before.level);
    now.endurance_seconds = std::max(now.endurance_seconds, before.endurance_seconds);
    std::vector<std::string> both;
    std::ranges::set_union(now.failed, before.failed, std::back_inserter(both));
    now.failed = std::move(both);
    return now;
  }
  const bool as_much = now.level >= before.level &&
                       now.endurance_seconds >= before.endurance_seconds &&
                       now.hammer >= before.hammer && std::ranges::includes(passed, before.failed);
  if (was_bad && (now.standing == Standing::unknown || !whole || !as_much)) return before;
  return whole || now.standing == Standing::unknown ? now : before;
}

KeptResult result_of_machine(const Report& report, bool bad_gpu) {
  KeptResult result;
  result.reason = report.conclusion.value_or("");
  if (report.exit == Exit::ok)
    result.standing = Standing::good;
  else if (report.exit == Exit::required_absent)
    result.standing = Standing::absent;
  else if (report.exit == Exit::unhealthy)  // a bad GPU says it itself
    result.standing = bad_gpu ? Standing::good : Standing::bad;
  else if (report.machine.gpus.empty())
    result.standing = Standing::unknown;
  return result;
}

std::string ago(std::int64_t seconds) {
  if (seconds < 0) return "by a later clock";
  constexpr std::pair<std::int64_t, const char*> kUnits[] = {
      {86400, "d"}, {3600, "h"}, {60, "min"}};
  for (const auto& [length, unit] : kUnits)
    if (seconds >= 2 * length) return fmt::format("{} {} ago", seconds / length, unit);
  return fmt::format("{} s ago", seconds);
}

struct Change {
  bool boot, driver;
};
Change since(const KeptResult& result, const Present& now) {
  return {result.boot_id && now.boot_id && result.boot_id != now.boot_id,
          result.driver_version != now.driver_version};
}

// What a kept result is worth now, and why if that differs.
void bring_up_to_date(KeptResult& result, const Present& now) {
  const auto change = since(result, now);
  const std::int64_t age = now.unix_seconds - result.tested_unix_seconds;
  const char* what = change.boot ? "before the latest boot" : "with another driver";
  if (result.standing == Standing::bad && (change.boot || change.driver)) {
    result.standing = Standing::retest;
    result.reason = fmt::format("bad {}: {}", what, result.reason);
  } else if (result.standing == Standing::good || result.standing == Standing::absent) {
    if (change.boot || change.driver)
      result.reason = fmt::format("tested {}", what);
    else if (age < 0)
      result.reason = "the clock was set back";
    else if (age > now.valid_seconds)
      result.reason = fmt::format("tested {}", ago(age));
    else
      return;
    result.standing = Standing::expired;
  }
}

std::string command_that_clears(const KeptResult& result) {
  std::string command = fmt::format("gpuready test --level {}", to_string(result.level));
  if (result.standing != Standing::retest) return command;
  if (result.endurance_seconds > 0)
    command += fmt::format(" --duration {:.0f}", std::ceil(result.endurance_seconds));
  return command + (result.hammer ? " --hammer" : "");
}

// What is wrong and what to do, with less of the former where the line would be too long.
std::string advice(std::string_view standing, std::initializer_list<std::string> whys,
                   const std::string& command) {
  std::string line;
  for (const std::string& why : whys) {
    line = fmt::format("{}: {}; run {}", standing, why, command);
    if (line.size() <= kMostLineBytes) return line;
  }
  return fmt::format("{}: run {}", standing, command);
}

std::string line_of(const StatusReport& report, const Present& now) {
  const auto worst = std::ranges::max_element(report.results, {}, &KeptResult::standing);
  const std::string again = worst == report.results.end() ? "" : command_that_clears(*worst);
  const auto age = [&] { return ago(now.unix_seconds - worst->tested_unix_seconds); };
  switch (report.standing) {
    case Standing::never_tested:
      return worst == report.results.end()
                 ? "never tested: run gpuready check"
                 : fmt::format("never tested: {}; run gpuready check", worst->subject);
    case Standing::good: {
      const auto gpus = std::ranges::count_if(
          report.results, [](const auto& result) { return result.subject != kMachine; });
      const auto least = std::ranges::min(report.results, {}, &KeptResult::level);
      const auto oldest = std::ranges::min(report.results, {}, &KeptResult::tested_unix_seconds);
      return fmt::format("good: {}, level {}, {}",
                         gpus == 0   ? std::string("no GPU here")
                         : gpus == 1 ? std::string("1 GPU")
                                     : fmt::format("{} GPUs", gpus),
                         to_string(least.level),
                         ago(now.unix_seconds - oldest.tested_unix_seconds));
    }
    case Standing::retest:
      return advice("retest", {worst->subject + " was bad"}, again);
    case Standing::bad:
      return fmt::format("bad: {}, {}: {}", worst->subject, age(), worst->reason);
    case Standing::expired:
      return advice("expired", {worst->subject + ": " + worst->reason, worst->reason}, again);
    case Standing::absent:
    case Standing::unknown:
      return fmt::format("{}: {}, {}: {}", name_of(report.standing), worst->subject, age(),
                         worst->reason);
  }
  return {};
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  if (text.size() > kMostLineBytes) text = text.substr(0, kMostLineBytes - 3) + "...";
  return text;
}

}  // namespace

KeptResults keep(KeptResults before, const Report& report, const RunExtent& extent) {
  KeptResult run;  // what all results of this run say
  run.level = extent.level;
  run.endurance_seconds = extent.endurance_seconds;
  run.hammer = extent.hammer;
  run.tested_unix_seconds = parse_utc(report.created_utc).value_or(0);
  run.boot_id = report.boot_id;
  run.driver_version =
      driver_versions(report.machine.nvidia.module_version, report.machine.amd.module_version);

  if (before.machine_id && report.machine_id && before.machine_id != report.machine_id)
    before.results.clear();
  KeptResults kept{.machine_id = report.machine_id, .results = {}};
  bool bad_gpu = false;
  for (const GpuSummary& summary : summarize(report).gpus) {
    const Gpu& gpu = *summary.gpu;
    const auto old = std::ranges::find_if(
        before.results, [&](const KeptResult& result) { return is_same_gpu(result, gpu); });
    if (old == before.results.end() && (is_set_apart(summary.state) || gpu.faked)) continue;
    KeptResult now = run;
    now.standing = decided(summary.state).value_or(Standing::never_tested);
    now.reason = summary.reason;
    now.obligations = summary.obligations;
    if (report.findings) now.action = strongest_action(*report.findings, gpu);
    if (now.standing == Standing::bad) note_failures(now, report, gpu);
    bad_gpu |= now.standing == Standing::bad;
    KeptResult next = after(old == before.results.end() ? KeptResult{} : *old, now, extent.whole,
                            tests_that(VerdictStatus::passed, report, gpu));
    next.subject = subject_of(gpu);
    next.uuid = gpu.uuid ? gpu.uuid : next.uuid;
    next.pci = gpu.pci;
    kept.results.push_back(std::move(next));
  }
  // One that is gone is absent, a bad one still bad, unless a new one has its place.
  const auto is_new = [&](const Gpu& gpu) {
    return std::ranges::none_of(before.results,
                                [&](const KeptResult& old) { return is_same_gpu(old, gpu); });
  };
  for (KeptResult& old : before.results) {
    const bool here = std::ranges::any_of(report.machine.gpus, [&](const Gpu& gpu) {
      return is_same_gpu(old, gpu) || (old.pci && old.pci == gpu.pci && is_new(gpu));
    });
    if (here || old.subject == kMachine || old.standing == Standing::never_tested) continue;
    KeptResult gone = old;
    if (gone.standing != Standing::bad) {
      gone = run;
      gone.subject = old.subject, gone.uuid = old.uuid, gone.pci = old.pci;
      gone.standing = Standing::absent;
      gone.reason = "it was here before";
    }
    kept.results.push_back(std::move(gone));
  }
  const auto machine = std::ranges::find(before.results, kMachine, &KeptResult::subject);
  KeptResult now = run;
  const KeptResult found = result_of_machine(report, bad_gpu);
  now.standing = found.standing;
  now.reason = found.reason;
  if (report.findings) now.action = strongest_action(*report.findings);
  KeptResult next =
      after(machine == before.results.end() ? KeptResult{} : *machine, now, extent.whole);
  next.subject = kMachine;
  kept.results.push_back(std::move(next));
  return kept;
}

std::optional<std::string> driver_versions(const std::optional<std::string>& nvidia,
                                           const std::optional<std::string>& amdgpu) {
  if (!amdgpu) return nvidia;
  return (nvidia ? *nvidia + ", " : "") + "amdgpu " + *amdgpu;
}

StatusReport status_of(KeptResults kept, const Present& now) {
  StatusReport report;
  report.valid_seconds = now.valid_seconds;
  const bool of_this_machine =
      !kept.machine_id || !now.machine_id || kept.machine_id == now.machine_id;
  if (of_this_machine) report.results = std::move(kept.results);
  for (KeptResult& result : report.results) bring_up_to_date(result, now);
  if (!report.results.empty())
    report.standing = std::ranges::max(report.results, {}, &KeptResult::standing).standing;
  report.line = one_line(line_of(report, now));
  return report;
}

Result<KeptResults> parse_kept_results(std::string_view text, const std::string& name) {
  const auto read = [&]() -> Result<KeptResults> {
    const Json doc = TRY(parse_json(text, name));
    if (!value::is_document(doc, kForm<KeptResults>))
      return fail(ErrorKind::bad_input, name + " does not hold results that gpuready kept");
    return value::read_document<KeptResults>(doc, name);
  };
  auto kept = read();
  if (!kept) kept.error().message += "; delete it";
  return kept;
}

std::string kept_results_text(const KeptResults& kept) { return dump(value::write_document(kept)); }

std::string render_terminal(const StatusReport& report, const TerminalStyle&) {
  return report.line + "\n";
}

}  // namespace gpuready
