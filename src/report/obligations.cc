#include "report/obligations.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "base/units.h"
#include "health/clocks.h"
#include "health/plan/survey.h"
#include "machine/gpu_use.h"
#include "machine/nvidia/architectures.h"
#include "value/about.h"

namespace gpuready {
namespace {

using enum ObligationKind;
using Status = ObligationStatus;

// The driver keeps a part of the memory that NVML counts: 0.5% to 7% on GPUs of 140 to 4 GiB.
constexpr double kLeastIdentity = 0.90, kMostIdentity = 1.01;
// What a context takes besides what the memory test leaves is at most this.
constexpr double kLeastCoverage = 0.95, kLeastCoverageWsl2 = 0.85;
constexpr std::uint64_t kContextBytes = 512 * MiB;

struct Judged {
  Status status;
  std::string reason;
  std::optional<Metric> figure = std::nullopt;
  bool hidden = false;  // what the tables cannot know: it cannot be judged here, ever
};
using Answer = std::optional<Judged>;

Judged held(std::string reason, std::optional<Metric> figure = std::nullopt) {
  return {Status::held, std::move(reason), std::move(figure)};
}
Judged not_judged(std::string reason) { return {Status::not_judged, std::move(reason)}; }
Judged hidden(std::string reason) { return {Status::not_judged, std::move(reason), {}, true}; }

struct Case {
  const Machine& machine;
  const Gpu& gpu;
  std::span<const Verdict> all;
  std::vector<const Verdict*> verdicts;  // about this GPU
  const Asked& asked;

  const Verdict* find(std::string_view test) const {
    const auto it = std::ranges::find(verdicts, test, &Verdict::test);
    return it == verdicts.end() ? nullptr : *it;
  }
};

// "memory: not tested: ..." of the first verdict of these tests that has this status.
template <class... Statuses>
const Verdict* first_with(const Case& on, std::span<const std::string_view> tests,
                          Statuses... statuses) {
  for (const Verdict* verdict : on.verdicts)
    if (std::ranges::find(tests, verdict->test) != tests.end() &&
        ((verdict->status == statuses) || ...))
      return verdict;
  return nullptr;
}

const Metric* metric_of(const Verdict* verdict, std::string_view name) {
  if (!verdict) return nullptr;
  const auto it = std::ranges::find(verdict->metrics, name, &Metric::name);
  return it == verdict->metrics.end() ? nullptr : &*it;
}
const Metric* below_its_limit(const Verdict& verdict) {
  for (const Metric& metric : verdict.metrics)
    if (metric.threshold && metric.value < *metric.threshold && metric.name != kLinkGeneration)
      return &metric;
  return nullptr;
}
// It did all that it should, too slowly.
const Metric* slow_figure(const Verdict& verdict) {
  const bool wrong = verdict.mismatches_total > 0 || verdict.bad_words_total > 0;
  return verdict.status == VerdictStatus::failed && !wrong ? below_its_limit(verdict) : nullptr;
}
bool is_of_host_link(const Metric& metric) {
  return metric.name.starts_with("h2d") || metric.name.starts_with("d2h") ||
         metric.name.starts_with("pcie");
}

// What a slow verdict speaks against.
std::optional<ObligationKind> slow_kind(const Verdict& verdict) {
  const Metric* metric = slow_figure(verdict);
  if (!metric) return std::nullopt;
  if (verdict.test == "peers") return peer_links;
  if (verdict.test == "tensor") return burn;
  return is_of_host_link(*metric) ? host_link : clock;
}

Answer judge_slowness(const Case& on, ObligationKind kind) {
  for (const Verdict* verdict : on.verdicts)
    if (slow_kind(*verdict) == kind)
      return Judged{Status::broken, verdict->test + ": " + verdict->reason, *slow_figure(*verdict)};
  return std::nullopt;
}

Judged of_verdict(const Verdict& verdict) {
  return not_judged(verdict.test + ": " + verdict.reason);
}

// NVML is not here; one that is here and gave no answer could have been asked.
Answer without_nvml(const Case& on) {
  if (on.gpu.vendor != Vendor::nvidia || nvml_started(on.machine)) return std::nullopt;
  const auto& outcome = on.machine.nvidia.nvml_outcome;
  if (!outcome || *outcome == "no_library" || *outcome == "not_asked")
    return hidden("NVML is not here");
  return not_judged("NVML gave no answer");
}

// How many SMs it must have: by NVML's cores, else as many as any sibling.
struct ExpectedUnits {
  std::uint32_t units;
  std::string reported, source;
};
std::optional<ExpectedUnits> expected_units(const Case& on) {
  const auto* architecture =
      on.gpu.compute_capability ? find_nvidia_architecture(*on.gpu.compute_capability) : nullptr;
  if (architecture && on.gpu.cores) {
    const auto units =
        static_cast<std::uint32_t>(*on.gpu.cores / architecture->cores_per_multiprocessor);
    return ExpectedUnits{units, fmt::format("NVML reports {} cores: {} SMs", *on.gpu.cores, units),
                         "NVML's number of cores"};
  }
  std::uint32_t most = 0;
  for (const Verdict& verdict : on.all)
    for (const Gpu& gpu : on.machine.gpus)
      if (gpu.index != on.gpu.index && gpu.name == on.gpu.name && verdict.test == "compute" &&
          verdict.units && is_about(verdict, gpu))
        most = std::max(most, static_cast<std::uint32_t>(verdict.units->total));
  if (most == 0) return std::nullopt;
  return ExpectedUnits{most, fmt::format("a GPU of its kind here has {}", most),
                       "the most of its siblings"};
}

Answer judge_identity(const Case& on) {
  if (on.gpu.mig_enabled.value_or(false)) return std::nullopt;
  const Verdict* memory = on.find("memory");
  const auto told = on.gpu.memory.total_bytes;
  if (memory && memory->coverage && told && *told > 0) {
    const Metric ratio{
        "driver_to_management_memory",
        static_cast<double>(memory->coverage->total_bytes) / static_cast<double>(*told), "1",
        kLeastIdentity, "the memory that the management library reports"};
    if (ratio.value < kLeastIdentity || ratio.value > kMostIdentity)
      return Judged{Status::broken,
                    fmt::format("the driver offers {} of memory, and {} are reported",
                                format_bytes(memory->coverage->total_bytes), format_bytes(*told)),
                    ratio};
    const Verdict* compute = on.find("compute");
    const auto expected = compute && compute->units ? expected_units(on) : std::nullopt;
    if (expected && compute->units->total != expected->units)
      return Judged{Status::broken,
                    fmt::format("the driver offers {} SMs, and {}", compute->units->total,
                                expected->reported),
                    Metric{"units", static_cast<double>(compute->units->total), "1",
                           static_cast<double>(expected->units), expected->source}};
    return held(expected || !compute ? "memory and SMs are as reported"
                                     : "its memory is as reported; nothing reports its SMs",
                ratio);
  }
  if (auto none = without_nvml(on)) return none;
  if (memory && memory->coverage) return hidden("only one source reports its size");
  return std::nullopt;
}

// Every device that work is given to has memory and computes.
constexpr std::string_view kCore[] = {"memory", "compute"};
constexpr std::string_view kMemory[] = {"memory"}, kPeers[] = {"peers"}, kTensor[] = {"tensor"};
constexpr std::string_view kAllTests[] = {"memory", "compute", "tensor", "bandwidth", "peers"};

Answer judge_integrity(const Case& on) {
  for (const Verdict* verdict : on.verdicts)
    if (verdict->status == VerdictStatus::failed && !slow_figure(*verdict) &&
        verdict->test != kClocksTest)
      return Judged{Status::broken, verdict->test + ": " + verdict->reason};
  using enum VerdictStatus;
  if (const Verdict* v = first_with(on, kAllTests, not_tested, timed_out, inconclusive))
    return of_verdict(*v);
  if (const Verdict* v = first_with(on, kCore, not_supported)) return of_verdict(*v);
  for (const std::string_view test : kCore) {
    const Verdict* verdict = on.find(test);
    if (!verdict) return not_judged(fmt::format("the {} test did not run", test));
  }
  return held("all that was checked is right");
}

Answer judge_coverage(const Case& on) {
  Answer worst;
  for (const Verdict* verdict : on.verdicts) {
    if (verdict->test != "memory" || !verdict->coverage) continue;
    const Coverage& coverage = *verdict->coverage;
    const bool whole = on.gpu.mig.empty() && !on.gpu.mig_enabled.value_or(false);
    std::uint64_t base = whole
                             ? std::max(on.gpu.memory.total_bytes.value_or(0), coverage.total_bytes)
                             : coverage.total_bytes;
    if (base == 0) continue;
    // What NVML knew of before, a display's say, was not free to test.
    const std::uint64_t taken =
        whole ? on.gpu.memory.used_bytes.value_or(0) + on.gpu.memory.reserved_bytes.value_or(0) : 0;
    base -= std::min(taken, base);
    const double least = on.machine.system.wsl2 ? kLeastCoverageWsl2 : kLeastCoverage;
    const auto limit = std::min(least * static_cast<double>(base),
                                static_cast<double>(base - std::min(base / 2, kContextBytes)));
    const auto tested = static_cast<double>(coverage.tested_bytes);
    const Metric figure{"memory_tested", tested, "B", limit,
                        nvml_started(on.machine) ? "NVML's total, without what it reports as used"
                                                 : "the driver's total"};
    const std::string text = fmt::format(
        "{} of its memory was tested",
        format_percent(tested /
                       static_cast<double>(std::max<std::uint64_t>(coverage.total_bytes, 1))));
    if (tested >= limit) {
      if (!worst) worst = held(text, figure);
      continue;
    }
    Judged little = on.asked.busy       ? hidden("--busy leaves memory to others: " + text)
                    : on.gpu.integrated ? hidden("it shares the host's memory: " + text)
                                        : not_judged("only " + text);
    little.figure = figure;
    worst = little;
  }
  return worst;
}

// Siblings are of one name. True where most of the others that have a value have another.
template <class Value>
bool differs_from_siblings(const Machine& machine, const Gpu& gpu, Value value_of) {
  const auto own = value_of(gpu);
  std::ptrdiff_t others = 0, unlike = 0;
  for (const Gpu& each : machine.gpus)
    if (each.index != gpu.index && each.name == gpu.name && !each.faked && value_of(each)) {
      ++others;
      unlike += value_of(each) != own;
    }
  return own && unlike * 2 > others;
}

Answer judge_clock(const Case& on) {
  if (auto slow = judge_slowness(on, clock)) return slow;
  const Verdict* verdict = on.find(kClocksTest);
  if (!verdict) {
    if (auto none = without_nvml(on)) return none;
    return std::nullopt;
  }
  using enum VerdictStatus;
  if (verdict->status == failed)
    return Judged{
        Status::broken, verdict->reason,
        verdict->metrics.empty() ? std::nullopt : std::optional(verdict->metrics.front())};
  if (verdict->status == not_supported) return hidden(verdict->reason);
  if (verdict->status != passed) return not_judged(verdict->reason);
  const Metric* share = metric_of(verdict, kSlowShare);
  if (share && share->threshold && share->value > *share->threshold)
    return Judged{Status::degraded, verdict->reason, *share};
  if (differs_from_siblings(on.machine, on.gpu, [](const Gpu& g) { return g.power.limit_mw; }))
    return Judged{Status::degraded, "its power limit is not that of GPUs of its kind here"};
  return held(verdict->reason,
              verdict->metrics.empty() ? std::nullopt : std::optional(verdict->metrics.front()));
}

Answer judge_host_link(const Case& on) {
  if (auto slow = judge_slowness(on, host_link)) return slow;
  using enum VerdictStatus;
  const Verdict* bandwidth = on.find("bandwidth");
  if (bandwidth && bandwidth->status == passed)
    for (const Metric& metric : bandwidth->metrics)
      if (metric.threshold && is_of_host_link(metric))
        return held(fmt::format("{} to and from the host", format_rate(metric.value)), metric);
  if (bandwidth && bandwidth->status != passed && bandwidth->status != not_supported)
    return of_verdict(*bandwidth);
  if (on.gpu.integrated) return hidden("it shares the host's memory");
  const PcieLink &now = on.gpu.link_now, &most = on.gpu.link_max;
  std::string speed;
  if (const Metric* generation = metric_of(on.find(kClocksTest), kLinkGeneration)) {
    speed = fmt::format("generation {:.0f} of {:.0f} under load", generation->value,
                        *generation->threshold);
    if (generation->value < *generation->threshold)
      return Judged{Status::degraded, speed, *generation};
  }
  if (now.width && most.width && !link_is_virtual(on.machine, on.gpu))
    return held(
        fmt::format("x{} of x{}{}{}", *now.width, *most.width, speed.empty() ? "" : ", ", speed),
        Metric{"link_width", static_cast<double>(*now.width), "1", static_cast<double>(*most.width),
               "the widest that the link allows"});
  return hidden("nothing here reports what its link could do");
}

Answer judge_peer_links(const Case& on) {
  if (auto slow = judge_slowness(on, peer_links)) return slow;
  using enum VerdictStatus;
  if (const Verdict* v = first_with(on, kPeers, not_tested, timed_out, inconclusive))
    return of_verdict(*v);
  if (const Verdict* v = first_with(on, kPeers, not_supported)) return hidden(v->reason);
  if (on.find("peers")) return held("every pair that it is one of passed");
  const auto usable = std::ranges::count_if(on.machine.gpus, [&](const Gpu& gpu) {
    return access_to(on.machine, gpu).use == GpuUse::usable;
  });
  return usable < 2 ? Answer(hidden("no other GPU is here")) : std::nullopt;
}

Answer judge_health_counters(const Case& on) {
  const Gpu& gpu = on.gpu;
  if (differs_from_siblings(on.machine, gpu, [](const Gpu& g) { return g.ecc.enabled_now; }))
    return Judged{Status::degraded, gpu.ecc.enabled_now.value_or(false)
                                        ? "ECC is on, and off on GPUs of its kind here"
                                        : "ECC is off, and on on GPUs of its kind here"};
  if (gpu.ecc.since_boot.uncorrected || gpu.remapping.pending || gpu.retired.pending ||
      gpu.inforom_valid || gpu.pcie_errors.replays || !gpu.ras_errors.empty())
    return held("no finding that counts is of its error counters");
  if (auto none = without_nvml(on)) return none;
  return hidden("its driver has no error counters");
}

Answer judge_burn(const Case& on) {
  if (auto slow = judge_slowness(on, burn)) return slow;
  const Verdict* tensor = on.find("tensor");
  if (!tensor) return std::nullopt;
  using enum VerdictStatus;
  if (tensor->status == not_supported) return hidden(tensor->reason);
  if (tensor->status != passed) return of_verdict(*tensor);
  const auto time = std::ranges::find(tensor->metrics, "burn_duration", &Metric::name);
  if (time == tensor->metrics.end())
    return hidden("its matrix instructions by mma.sync do not load it fully");
  return held(fmt::format("{:.1f} s at full load", time->value), *time);
}

struct Rule {
  ObligationKind kind;
  Answer (*judge)(const Case&);
  std::span<const std::string_view> tests;  // that settle it
};
constexpr Rule kRules[] = {
    {identity, judge_identity, kCore},
    {integrity, judge_integrity, kCore},
    {coverage, judge_coverage, kMemory},
    {clock, judge_clock, kCore},
    {host_link, judge_host_link, {}},
    {peer_links, judge_peer_links, kPeers},
    {health_counters, judge_health_counters, {}},
    {burn, judge_burn, kTensor},
};

// Findings that speak against an obligation: an error breaks it, a warning degrades it. What is
// known from the kernel log alone, or happened before and works again, is not among them.
struct Speaks {
  std::string_view id;
  ObligationKind kind;
  std::string_view source = "";  // evidence from here is wanted
};
constexpr Speaks kSpeaks[] = {
    {"memory-reduced", identity},
    {"differs-from-siblings", integrity},
    {"slower-than-siblings", clock},
    {"pcie-link-degraded", host_link},
    {"link-reduced", host_link},
    {"pcie-errors-increased", host_link},
    {"pcie-errors", host_link, "/sys/"},
    {"nvlink-down", peer_links},
    {"nvlinks-lost", peer_links},
    {"nvlink-errors-increased", peer_links},
    {"fabric-unhealthy", peer_links},
    {"fabric-not-ready", peer_links},
    {"row-remap-failed", health_counters},
    {"row-remap-pending", health_counters},
    {"rows-remapped", health_counters},
    {"inforom-corrupt", health_counters},
    {"uncorrectable-ecc", health_counters},
    {"ecc-errors-increased", health_counters},
    {"corrected-errors-increased", health_counters},
    {"sram-errors-exceeded", health_counters},
    {"new-xid", health_counters},
};
std::optional<ObligationKind> spoken_against(const Finding& finding) {
  const auto is_from = [&](std::string_view source) {
    return source.empty() || std::ranges::any_of(finding.evidence, [&](const Evidence& each) {
             return each.source.starts_with(source);
           });
  };
  for (const Speaks& row : kSpeaks)
    if (finding.id == row.id && is_from(row.source)) return row.kind;
  return std::nullopt;
}

void find_speaking(std::span<const Finding> findings, const Gpu& gpu, ObligationKind kind,
                   Answer& worst) {
  for (const Finding& finding : findings) {
    if (is_about(finding, gpu) && spoken_against(finding) == kind &&
        finding.severity != Severity::info) {
      const Status status = finding.severity == Severity::error ? Status::broken : Status::degraded;
      if (!worst || worst->status == Status::degraded)
        worst = Judged{status, fmt::format("{} ({})", finding.title, finding.id)};
    }
    find_speaking(finding.explains, gpu, kind, worst);
  }
}

bool is_settled_by(const Rule& rule, const Asked& asked) {
  return asked.tests.empty() || std::ranges::all_of(rule.tests, [&](std::string_view test) {
           return std::ranges::find(asked.tests, test) != asked.tests.end();
         });
}

bool is_accepted(const Asked& asked, ObligationKind kind, const Gpu& gpu) {
  return std::ranges::any_of(asked.accepted, [&](const Accepted& each) {
    return each.kind == kind && (each.devices.empty() || names_this_gpu(each.devices, gpu));
  });
}

Obligation settle(const Rule& rule, const Case& on, const Spoken& findings) {
  Obligation out;
  out.kind = rule.kind;
  out.required = std::ranges::find(on.asked.required, rule.kind) != on.asked.required.end();
  Due owed = due(rule.kind, on.gpu.vendor, surroundings_of(on.machine, on.gpu), on.asked.level);
  if (owed.duty == Duty::owed && !is_settled_by(rule, on.asked))
    owed = {Duty::not_owed, "the tests that were asked for do not judge it"};
  out.duty = owed.duty;
  Answer answer = rule.judge(on);
  Answer spoken, accepted;
  find_speaking(findings.counted, on.gpu, rule.kind, spoken);
  find_speaking(findings.accepted, on.gpu, rule.kind, accepted);
  // The worse of the two; a judgement that is as bad has the figure.
  const auto is_bad = [](const Answer& each) {
    return each && (each->status == Status::broken || each->status == Status::degraded);
  };
  if (is_bad(spoken) && (!is_bad(answer) || answer->status < spoken->status)) answer = spoken;
  const bool only_accepted = accepted && answer && answer->status == Status::held;
  if (only_accepted) answer = Judged{Status::degraded, accepted->reason};
  if (answer) {
    out.status = answer->status;
    out.reason = std::move(answer->reason);
    out.figure = std::move(answer->figure);
    if (answer->hidden && out.duty == Duty::owed) out.duty = Duty::hidden;
  }
  if (out.status == Status::not_judged && owed.duty != Duty::owed) out.reason = owed.why;
  if (out.reason.empty()) {
    using enum VerdictStatus;
    const Verdict* why =
        first_with(on, rule.tests, failed, not_tested, not_supported, timed_out, inconclusive);
    out.reason = why ? of_verdict(*why).reason : "nothing that ran judges it";
  }
  out.accepted =
      only_accepted || (out.status == Status::degraded && is_accepted(on.asked, rule.kind, on.gpu));
  return out;
}

}  // namespace

std::vector<const Verdict*> verdicts_about(std::span<const Verdict> verdicts, const Gpu& gpu) {
  std::vector<const Verdict*> about;
  for (const Verdict& verdict : verdicts)
    if (is_about(verdict, gpu)) about.push_back(&verdict);
  return about;
}

bool any_passed(std::span<const Verdict> verdicts, const Gpu& gpu) {
  return std::ranges::any_of(verdicts, [&](const Verdict& verdict) {
    return is_about(verdict, gpu) && verdict.status == VerdictStatus::passed &&
           find_health_test(verdict.test) != nullptr;
  });
}

std::vector<Obligation> obligations_of(const Machine& machine, const Gpu& gpu,
                                       std::span<const Verdict> verdicts, const Spoken& findings,
                                       const Asked& asked) {
  const Case on{machine, gpu, verdicts, verdicts_about(verdicts, gpu), asked};
  std::vector<Obligation> out;
  for (const Rule& rule : kRules) out.push_back(settle(rule, on, findings));
  return out;
}

std::string said_of(const Obligation& obligation) {
  return fmt::format("{} {}: {}", words_of(obligation.kind), words_of(obligation.status),
                     obligation.reason);
}

std::vector<std::string> chosen_settings(const Gpu& gpu) {
  std::vector<std::string> out;
  const GpuPower& power = gpu.power;
  if (power.limit_mw && power.default_limit_mw && *power.limit_mw < *power.default_limit_mw)
    out.push_back(fmt::format("power limit {} of {} W", *power.limit_mw / 1000,
                              *power.default_limit_mw / 1000));
  // Consumers' and workstations' GPUs are sold with ECC off.
  const auto sold_without = {"GeForce", "RTX", "Quadro", "TITAN"};
  if (gpu.ecc.enabled_now == false &&
      std::ranges::none_of(sold_without, [&](const char* name) { return gpu.name.contains(name); }))
    out.push_back("ECC off");
  constexpr std::uint64_t kApplicationClocks =
      0x2;  // nvmlClocksEventReasonApplicationsClocksSetting
  if (gpu.clock_event_reasons.value_or(0) & kApplicationClocks) out.push_back("application clocks");
  return out;
}

}  // namespace gpuready
