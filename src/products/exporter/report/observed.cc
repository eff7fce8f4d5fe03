#include "exporter/report/observed.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/facts.h"
#include "machine/pci/pci_addresses.h"

namespace gpuready::exporter {
namespace {

// How long an answer may take before the driver counts as silent: twice the time of the previous
// one, since a driver without persistence starts every GPU again, within these limits.
constexpr double kLeastPatienceSeconds = 3, kMostPatienceSeconds = 30;
// GPUs that are plugged in and out by the hundred must not fill the page.
constexpr std::size_t kMostLost = 64;

bool is_same(const Gpu& a, const Gpu& b) {
  if (a.uuid && b.uuid) return a.uuid == b.uuid;
  if (a.pci || b.pci) return a.pci == b.pci;
  return a.index == b.index;  // a Jetson's has neither
}

bool in_same_slot(const Gpu& a, const Gpu& b) { return a.pci && a.pci == b.pci; }

int free_number(const std::vector<SeenGpu>& seen, int wanted) {
  const auto taken = [&](int number) {
    return std::ranges::any_of(seen, [&](const SeenGpu& each) { return each.number == number; });
  };
  if (!taken(wanted)) return wanted;
  int number = 0;
  while (taken(number)) ++number;
  return number;
}

void note_gpus(Observed& seen, const Machine& machine, bool answered, double now) {
  for (SeenGpu& each : seen.gpus) each.present = each.answers = false;
  std::vector<const Gpu*> added;
  for (const Gpu& gpu : machine.gpus) {
    const auto known = std::ranges::find_if(
        seen.gpus, [&](const SeenGpu& each) { return is_same(each.gpu, gpu); });
    if (known == seen.gpus.end()) {
      added.push_back(&gpu);
      continue;
    }
    known->present = true;
    // Of one that sleeps, or that its driver has lost, the bus still tells: what is known of it is
    // what it answered before.
    known->answers = answered && (gpu.uuid || !known->gpu.uuid);
    if (answered && (known->answers || gpu.suspended)) known->seen_at = now;
    if (known->answers) known->gpu = gpu;
  }
  for (const Gpu* gpu : added) {
    std::erase_if(seen.gpus, [&](const SeenGpu& each) {
      return !each.present && in_same_slot(each.gpu, *gpu);
    });
    seen.gpus.push_back({*gpu, free_number(seen.gpus, gpu->index), now, true, answered});
  }
  while (std::ranges::count(seen.gpus, false, &SeenGpu::present) >
         static_cast<std::ptrdiff_t>(kMostLost))
    seen.gpus.erase(std::ranges::min_element(
        seen.gpus, {}, [](const SeenGpu& each) { return each.present ? 1e300 : each.seen_at; }));
  std::ranges::sort(seen.gpus, {}, &SeenGpu::number);
}

// Each event counts once, however often the log is read.
void count_xids(Observed& seen, const KernelLog& log) {
  std::vector<XidCount> counts = seen.xids;
  for (const XidEvent& event : log.xids) {
    if (!event.pci || !event.seconds) continue;
    const auto is_it = [&](const XidCount& each) {
      return each.code == event.code && same_slot(each.slot, *event.pci);
    };
    const auto before = std::ranges::find_if(seen.xids, is_it);
    if (before != seen.xids.end() && *event.seconds <= before->newest) continue;
    auto count = std::ranges::find_if(counts, is_it);
    if (count == counts.end())
      count = counts.insert(counts.end(), {*event.pci, event.code, 0, *event.seconds});
    count->count += 1 + event.left_out;
    count->newest = std::max(count->newest, *event.seconds);
  }
  seen.xids = std::move(counts);
}

// A test that passed after the Xid clears it.
bool is_cleared(const Observed& seen, const Machine& machine, const XidEvent& event) {
  const auto& system = machine.system;
  if (!system.unix_seconds || !system.uptime_seconds || !event.seconds) return false;
  const double happened = static_cast<double>(*system.unix_seconds) -
                          static_cast<double>(*system.uptime_seconds) + *event.seconds;
  return std::ranges::any_of(seen.kept.results, [&](const KeptResult& kept) {
    return kept.pci && same_slot(*kept.pci, *event.pci) && kept.standing == Standing::good &&
           static_cast<double>(kept.tested_unix_seconds) > happened;
  });
}

// It says what the driver wants after another Xid.
constexpr int kRecoveryActionChanged = 154;

// The log is a ring: it forgets an Xid before the GPU does, so those that stood are added to it.
void note_standing(Observed& seen, Machine machine) {
  auto& log = machine.kernel_log;
  for (const XidEvent& old : seen.standing) {
    const bool logged = std::ranges::any_of(log.xids, [&](const XidEvent& each) {
      return each.seconds == old.seconds && each.line == old.line;
    });
    if (logged) continue;
    log.lines.insert(log.lines.begin(), {old.line, old.seconds, 0});
    log.xids.insert(log.xids.begin(), old);
  }
  std::vector<XidEvent> standing;
  const auto states = doctor::xid_states(machine);
  for (std::size_t i = 0; i < states.size(); ++i) {
    const XidEvent& event = log.xids[i];
    if (!event.pci || states[i] == doctor::XidState::past || is_cleared(seen, machine, event))
      continue;
    const auto of_gpu = [&](const XidEvent& each) { return same_slot(*each.pci, *event.pci); };
    if (event.code == kRecoveryActionChanged && std::ranges::any_of(standing, of_gpu)) continue;
    std::erase_if(standing, of_gpu);
    standing.push_back(event);
  }
  seen.standing = std::move(standing);
}

}  // namespace

std::optional<std::string> silence_of(const Machine& machine) {
  const auto said = [](std::string_view library, const std::optional<std::string>& outcome,
                       const std::optional<std::string>& where) -> std::optional<std::string> {
    if (outcome != "hung" && outcome != "timed_out") return std::nullopt;
    return fmt::format("{} does not answer{}", library, where ? " in " + *where : "");
  };
  const auto& nvidia = machine.nvidia;
  if (auto text = said("NVML", nvidia.nvml_outcome, nvidia.nvml_stopped_in)) return text;
  if (auto text = said("ROCm", machine.amd.outcome, machine.amd.stopped_in)) return text;
  for (const Unseen& unseen : machine.unseen)
    if (contains(unseen.why, "did not answer within")) return unseen.why;
  return std::nullopt;
}

void note_sample(Observed& seen, Report report, double now) {
  seen.silence = silence_of(report.machine);
  const bool answered = !seen.silence;
  ++(answered ? seen.answered : seen.unanswered);
  if (seen.asked_at) seen.duration_seconds = now - *seen.asked_at;
  seen.asked_at.reset();
  seen.sampled_at = now;
  if (answered) seen.answered_at = now, seen.answer_seconds = seen.duration_seconds;
  note_gpus(seen, report.machine, answered, now);
  if (report.machine.kernel_log.readable) {
    count_xids(seen, report.machine.kernel_log);
    note_standing(seen, report.machine);
  }
  seen.report = std::move(report);
}

void note_failure(Observed& seen, std::string why, double now) {
  ++seen.failed;
  if (seen.asked_at) seen.duration_seconds = now - *seen.asked_at;
  seen.asked_at.reset();
  seen.silence = std::move(why);
}

double unanswered_seconds(const Observed& seen, double now) {
  const double patience =
      std::clamp(2 * seen.answer_seconds, kLeastPatienceSeconds, kMostPatienceSeconds);
  const bool late = seen.asked_at && now - *seen.asked_at > patience;
  if (!late && !seen.silence) return 0;
  return now - seen.answered_at.value_or(seen.started_at);
}

}  // namespace gpuready::exporter
