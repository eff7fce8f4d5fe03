#include "report/conclude.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/text.h"
#include "base/units.h"
#include "doctor/diagnose.h"
#include "health/plan/survey.h"
#include "machine/gpu_use.h"
#include "machine/system/kernel_drivers.h"
#include "machine/system/named_libraries.h"
#include "report/accept.h"
#include "report/exit_rules.h"
#include "value/about.h"

namespace gpuready {
namespace {

constexpr const char* kAccepted = "--accept";

// The most severe of the finding and of what is folded under it. Too few GPUs are not a fault.
Severity worst(const Finding& finding) {
  if (finding.id == kExpectedGpuCount) return Severity::info;
  Severity severity = finding.severity;
  for (const Finding& inner : finding.explains) severity = std::max(severity, worst(inner));
  return severity;
}

std::string count(std::ptrdiff_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

// "GPU 0 by 2 MIG instances, 30.0 of 79.6 GiB"
std::string share_of(const Gpu& gpu) {
  std::uint64_t bytes = 0;
  for (const MigInstance& instance : gpu.mig) bytes += instance.memory_total_bytes.value_or(0);
  std::string text =
      fmt::format("GPU {} by {}", gpu.index, count(std::ssize(gpu.mig), "MIG instance"));
  if (bytes > 0 && gpu.memory.total_bytes)
    text +=
        fmt::format(", {} of its {}", format_bytes(bytes), format_bytes(*gpu.memory.total_bytes));
  return text;
}

std::string cannot_tell(const Machine& machine) {
  return fmt::format("Cannot tell whether this machine has a GPU: {}.",
                     why_bus_unread(machine).value_or(""));
}

// What the answer adds about the GPUs, each text with those that it is true of: "host link, burn",
// "clock (GPU 3)".
class GpuRemarks {
 public:
  void add(std::string text, int gpu) {
    const auto known = std::ranges::find(texts_, text, &Entry::text);
    Entry& entry = known == texts_.end() ? texts_.emplace_back(std::move(text)) : *known;
    if (std::ranges::find(entry.gpus, gpu) == entry.gpus.end()) entry.gpus.push_back(gpu);
  }
  bool empty() const { return texts_.empty(); }
  std::string text(int of) const {
    std::vector<std::string> parts, names;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      names.push_back(texts_[i].text);
      if (i + 1 < texts_.size() && texts_[i + 1].gpus == texts_[i].gpus) continue;
      std::string part = join(names, ", ");
      names.clear();
      if (std::ssize(texts_[i].gpus) < of)
        part += fmt::format(" (GPU {})", fmt::join(texts_[i].gpus, ", "));
      parts.push_back(std::move(part));
    }
    return join(parts, "; ");
  }

 private:
  struct Entry {
    std::string text;
    std::vector<int> gpus = {};
  };
  std::vector<Entry> texts_;
};

struct Notes {
  GpuRemarks not_judged, accepted, settings;
};
Notes notes_of(const Report& report) {
  Notes notes;
  for (std::size_t i = 0; i < report.obligations.size(); ++i) {
    const Gpu& gpu = report.machine.gpus[i];
    if (report.obligations[i].empty()) continue;
    for (const Obligation& owed : report.obligations[i])
      if (effect_of(owed) == Effect::told)
        (owed.accepted ? notes.accepted : notes.not_judged).add(words_of(owed.kind), gpu.index);
    // "fp8 e4m3 mma": without its reason.
    for (const Verdict* verdict : verdicts_about(*report.verdicts, gpu))
      for (const std::string& part : verdict->not_judged)
        notes.not_judged.add(part.substr(0, part.find(':')), gpu.index);
    for (auto& setting : chosen_settings(gpu)) notes.settings.add(std::move(setting), gpu.index);
  }
  return notes;
}

Effect worst_effect(const Report& report, std::size_t gpu) {
  if (gpu >= report.obligations.size() || report.obligations[gpu].empty()) return Effect::unknown;
  return std::ranges::max(report.obligations[gpu] | std::views::transform(effect_of));
}

MachineTally tally_of(const Report& report, const Requirements& requirements) {
  MachineTally tally;
  tally.required = requirements.required_gpus;
  tally.tested = report.verdicts && requirements.test_gpus;
  // Devices that were named, and of which nothing is known.
  tally.unknown = tally.tested && !requirements.devices.empty() && report.verdicts->empty();
  tally.bus_unread = report.machine.fakes.empty() && why_bus_unread(report.machine).has_value();
  const auto access = usability(report);
  bool judged = false;
  for (std::size_t i = 0; i < access.size(); ++i) {
    const Gpu& gpu = report.machine.gpus[i];
    const GpuUse use = access[i].use;
    const bool named = !requirements.devices.empty();
    if (use == GpuUse::faked || (named && !names_gpu(requirements.devices, gpu))) continue;
    tally.hidden += use == GpuUse::hidden;
    tally.display_only += use == GpuUse::display_only;
    tally.not_ours += use == GpuUse::not_ours && access[i].source != kAccepted;
    const bool asked_for = use == GpuUse::hidden && names_this_gpu(requirements.devices, gpu);
    if (!is_given(use) && !asked_for) continue;
    ++tally.gpus;
    if (use == GpuUse::unusable) {
      if (tally.unusable.empty())
        tally.unusable = fmt::format("GPU {}: {}", gpu.index, access[i].reason);
      continue;
    }
    ++tally.usable;
    judged |= i < report.obligations.size() && !report.obligations[i].empty();
    const Effect effect = worst_effect(report, i);
    tally.degraded += effect == Effect::unhealthy;
    if (effect > Effect::told || !any_passed(*report.verdicts, gpu)) continue;
    ++tally.ready;
    tally.whole =
        tally.whole && std::ranges::any_of(report.obligations[i], [](const auto& owed) {
          return owed.kind == ObligationKind::integrity && owed.status == ObligationStatus::held;
        });
    if (gpu.mig_enabled.value_or(false))
      tally.in_part += (tally.in_part.empty() ? "" : "; ") + share_of(gpu);
  }
  tally.not_judged = !judged && !requirements.asked.required.empty();
  if (report.findings)
    for (const auto& finding : *report.findings) {
      tally.errors += worst(finding) == Severity::error;
      tally.warnings += worst(finding) == Severity::warning;
    }
  const auto judge = [&](VerdictStatus status) {
    tally.failed |= status == VerdictStatus::failed;
    tally.unknown |= status == VerdictStatus::timed_out || status == VerdictStatus::inconclusive ||
                     status == VerdictStatus::not_tested;
  };
  if (report.verdicts)
    for (const auto& verdict : *report.verdicts) {
      judge(verdict.status);
      tally.failed |= verdict.injected_fault.has_value();  // never taken for a healthy run
    }
  return tally;
}

// What no device of a kind has is judged by its obligation.
bool speaks_against(const Report& report, const Verdict& verdict) {
  if (verdict.status != VerdictStatus::not_supported)
    return verdict.status != VerdictStatus::passed;
  return !report.machine.gpus.empty() && report.obligations.empty();
}

// "GPU 3: host link degraded: x8 of x16"
std::string worst_obligation(const Report& report, Effect effect) {
  for (std::size_t i = 0; i < report.obligations.size(); ++i)
    for (const Obligation& owed : report.obligations[i])
      if (effect_of(owed) == effect)
        return fmt::format("GPU {}: {}", report.machine.gpus[i].index, said_of(owed));
  return {};
}

std::string first_title(const Report& report, const auto& wanted) {
  if (report.findings)
    for (const Finding& finding : *report.findings)
      if (wanted(finding)) return finding.title;
  return {};
}

// Why it is not all well, in a few words.
std::string first_problem(const Report& report) {
  if (report.verdicts)
    for (const auto& verdict : *report.verdicts)
      if (verdict.status == VerdictStatus::failed)
        return fmt::format("{} failed the {} test", verdict.subject, verdict.test);
  const auto title = first_title(report, [](const Finding& finding) {
    return worst(finding) == Severity::error && finding.id != kExpectedGpuCount;
  });
  if (!title.empty()) return title;
  if (auto problem = worst_obligation(report, Effect::unhealthy); !problem.empty()) return problem;
  if (report.verdicts)
    for (const auto& verdict : *report.verdicts)
      if (speaks_against(report, verdict))
        return fmt::format("{}: {}", verdict.subject, verdict.reason);
  return worst_obligation(report, Effect::unknown);
}

std::string first_warning(const Report& report) {
  return first_title(report,
                     [](const Finding& finding) { return worst(finding) == Severity::warning; });
}

// Without a symptom only a severe one is reported.
std::string first_known_fault(const Report& report) {
  return first_title(report, [](const Finding& finding) { return finding.id == "known-fault"; });
}

std::string names_of(const std::vector<ObligationKind>& kinds) {
  std::vector<std::string> names;
  for (const ObligationKind kind : kinds) names.emplace_back(name_of(kind));
  return join(names, ", ");
}

std::string_view no_gpu(const Report& report, const MachineTally& tally) {
  if (!report.accepted.empty() && !report.machine.gpus.empty())
    return "No GPU without an accepted finding";
  if (tally.not_ours > 0 && report.command == "doctor") return "No GPU for work";
  return tally.display_only > 0 ? "No GPU for compute" : "No GPU";
}

std::string sentence(std::string text, const std::string& problem) {
  if (!problem.empty()) text += ": " + problem;
  return text.ends_with('.') ? text : text + ".";
}

std::string conclude_check(const Report& report, const MachineTally& tally) {
  if (!report.machine.fakes.empty()) return "Faked GPUs: nothing can be proven on them.";
  const std::string problem = first_problem(report);
  if (tally.gpus == 0 && tally.bus_unread) return cannot_tell(report.machine);
  if (tally.gpus == 0) {
    const bool passed =
        report.verdicts && !report.verdicts->empty() && !tally.failed && !tally.unknown;
    if (!passed) return sentence(fmt::format("{} here", no_gpu(report, tally)), problem);
    // The host, or a software device such as llvmpipe.
    return sentence(fmt::format("{} here; {} was tested instead and passed", no_gpu(report, tally),
                                report.verdicts->front().subject),
                    problem);
  }
  std::string text = fmt::format("{} of {} ", tally.ready, count(tally.gpus, "GPU"));
  if (!report.machine.named_libraries.empty())
    text += "passed the tests";
  else if (report.command == "test" && !tally.whole)
    text += "passed the tests that were asked for";
  else
    text += tally.ready == 1 || tally.gpus == 1 ? "is ready for work" : "are ready for work";
  if (!tally.in_part.empty()) text += fmt::format(" in part ({})", tally.in_part);
  // Why it is not ready comes before what was not judged.
  const bool whole = problem.empty() && tally.unusable.empty();
  Notes notes = notes_of(report);
  if (!whole) notes.not_judged = {};
  const auto add = [&](std::string_view title, const GpuRemarks& told) {
    if (!told.empty()) text += fmt::format("; {}: {}", title, told.text(tally.gpus));
  };
  add("not judged", notes.not_judged);
  add("accepted as degraded", notes.accepted);
  add("set", notes.settings);
  if (!whole) return sentence(std::move(text), problem.empty() ? tally.unusable : problem);
  if (const auto warning = first_warning(report); !warning.empty()) text += "; warning: " + warning;
  return sentence(std::move(text), {});
}

std::string conclude_doctor(const Report& report, const MachineTally& tally) {
  if (tally.gpus == 0 && tally.errors == 0 && tally.bus_unread) return cannot_tell(report.machine);
  if (tally.errors + tally.warnings > 0 || tally.failed)
    return sentence(
        fmt::format("{}, {}", count(tally.errors, "error"), count(tally.warnings, "warning")),
        tally.errors == 0 && !tally.failed ? first_warning(report) : first_problem(report));
  if (tally.usable < tally.required.value_or(0)) return "Fewer GPUs are usable here than required.";
  if (tally.gpus == 0)
    return fmt::format("{} in this machine, and no error was found.", no_gpu(report, tally));
  const auto gpus = tally.gpus == 1 ? std::string("GPU") : count(tally.gpus, "GPU");
  if (const auto known = first_known_fault(report); !known.empty())
    return sentence(fmt::format("Nothing is wrong with the {} here. Note", gpus), known);
  return fmt::format("Nothing is wrong with the {} here.", gpus);
}

std::string conclude_detect(const Report& report, const MachineTally& tally) {
  if (!report.machine.fakes.empty())
    return sentence(
        "Faked, on request: " + fmt::format("{}", fmt::join(report.machine.fakes, ", ")), {});
  if (tally.gpus == 0 && tally.bus_unread) return cannot_tell(report.machine);
  if (tally.gpus == 0 && !report.machine.system.wsl2 && has_gpu_partition(report.machine))
    return "No usable GPU found. Hyper-V gives this machine a GPU partition; `gpuready doctor` "
           "says "
           "what it lacks.";
  if (tally.gpus == 0) return fmt::format("{} found.", no_gpu(report, tally));
  if (tally.usable == tally.gpus) return count(tally.gpus, "GPU") + " found.";
  return fmt::format("{} found, {} usable. {}; `gpuready doctor` names the cause.",
                     count(tally.gpus, "GPU"), tally.usable, tally.unusable);
}

// What is on the bus and does not count.
std::string others(const Report& report, const MachineTally& tally) {
  const auto told = [](int number, std::string_view why) {
    return number == 0
               ? ""
               : fmt::format(" {} more on the bus {} {}.", number, number == 1 ? "is" : "are", why);
  };
  const auto& container = report.machine.container;
  const bool job = in_slurm_job(report.machine);
  const std::string display =
      tally.display_only == 0
          ? ""
          : fmt::format(" {} {} for display only.",
                        count(tally.display_only, tally.gpus > 0 ? "more GPU" : "GPU"),
                        tally.display_only == 1 ? "is" : "are");
  return display +
         told(tally.not_ours, container.runtime ? "not this container's"
                              : job             ? "not this job's"
                                                : "set aside, or not used") +
         told(tally.hidden, "hidden by CUDA_VISIBLE_DEVICES");
}

// What of a finding concerns the GPU: it, or what follows from it for GPUs beside its own.
const Finding& part_about(const Finding& finding, const Gpu& gpu) {
  if (is_about(finding, gpu)) return finding;
  const auto inner = std::ranges::find_if(finding.explains,
                                          [&](const Finding& each) { return blames(each, gpu); });
  return inner == finding.explains.end() ? finding : part_about(*inner, gpu);
}

}  // namespace

std::vector<GpuAccess> usability(const Report& report) {
  const Machine& machine = report.machine;
  const auto findings = report.findings ? *report.findings : diagnose(machine);
  std::vector<GpuAccess> out;
  for (const Gpu& gpu : machine.gpus) {
    GpuAccess access = access_to(machine, gpu);
    const auto because = [&](std::string source, std::string reason) {
      access = {GpuUse::unusable, std::move(source), std::move(reason)};
    };
    // Displays are no excuse for a fault, nor where compute was asked for.
    if (is_given(access.use) || access.use == GpuUse::display_only)
      if (const auto it = std::ranges::find_if(
              findings, [&](const Finding& finding) { return blames(finding, gpu); });
          it != findings.end())
        because(it->id, part_about(*it, gpu).title);
    if (is_set_aside(report, gpu))
      access = {GpuUse::not_ours, kAccepted, "its finding is accepted, as asked"};
    if (access.use != GpuUse::faked && report.verdicts)
      for (const Verdict& verdict : *report.verdicts)
        if (verdict.status == VerdictStatus::failed && is_about(verdict, gpu)) {
          because(verdict.test, fmt::format("it failed the {} test", verdict.test));
          break;
        }
    if (const std::size_t i = out.size(); is_given(access.use) && i < report.obligations.size())
      for (const Obligation& owed : report.obligations[i])
        if (owed.status == ObligationStatus::broken)
          because(words_of(owed.kind), fmt::format("{}: {}", words_of(owed.kind), owed.reason));
    out.push_back(std::move(access));
  }
  return out;
}

namespace {

// Of GPUs that may be tested; of the others something else is said.
void settle_obligations(Report& report, const Requirements& requirements) {
  report.obligations.clear();
  if (!report.verdicts || !requirements.test_gpus || !report.machine.fakes.empty()) return;
  report.level = name_of(requirements.asked.level);
  Spoken findings{.accepted = report.accepted};
  if (report.findings) findings.counted = *report.findings;
  for (const Gpu& gpu : report.machine.gpus) {
    auto& owed = report.obligations.emplace_back();
    const bool tested = !verdicts_about(*report.verdicts, gpu).empty();
    if (tested || access_to(report.machine, gpu).use == GpuUse::usable)
      owed = obligations_of(report.machine, gpu, *report.verdicts, findings, requirements.asked);
  }
}

}  // namespace

std::vector<bool> usable_gpus(const Report& report) {
  std::vector<bool> usable;
  for (const GpuAccess& access : usability(report)) usable.push_back(access.use == GpuUse::usable);
  return usable;
}

void conclude(Report& report, const Requirements& requirements) {
  settle_obligations(report, requirements);
  MachineTally counts = tally_of(report, requirements);
  report.by_named_libraries =
      !report.machine.named_libraries.empty() && !requirements.trust_named_libraries;
  // None of them answers for the CPU.
  const bool cpu_only = requirements.devices == std::vector<std::string>{"cpu"};
  counts.named_libraries = report.by_named_libraries && report.command != "detect" && !cpu_only;
  const auto absent = unmet(requirements.policy, report.machine, usable_gpus(report));
  counts.unmet = !absent.empty();
  report.exit = exit_of(counts);
  std::string text = report.command == "doctor"   ? conclude_doctor(report, counts)
                     : report.command == "detect" ? conclude_detect(report, counts)
                                                  : conclude_check(report, counts);
  if (!requirements.test_gpus && counts.gpus > 0)
    text = sentence("No GPU was tested, as asked", first_problem(report));
  if (requirements.required_gpus && counts.usable < *requirements.required_gpus)
    text += fmt::format(" Required: {}; found and usable: {}.",
                        count(*requirements.required_gpus, "GPU"), counts.usable);
  if (counts.not_judged)
    text += fmt::format(" Required and not judged: {}.", names_of(requirements.asked.required));
  if (!absent.empty())
    text += fmt::format(" Not as {} says: {}.", requirements.policy.source, join(absent, "; "));
  text += others(report, counts);
  if (const auto& named = report.machine.named_libraries; !named.empty())
    text += fmt::format(" Through {}, not the system's driver.", named_libraries_text(named));
  report.conclusion = std::move(text);
}

}  // namespace gpuready
