// compare_before_and_after(): what happened while tests ran. ECC hides single-bit faults from the
// data, so a counter that rose is a finding even when every word compared equal.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "doctor/compare.h"
#include "doctor/facts.h"

namespace gpuready {
namespace {
using doctor::Match;

const Gpu* pair_of(const Gpu& gpu, const Machine& in) {
  if (gpu.uuid) return in.find_gpu_by_uuid(*gpu.uuid);
  return gpu.pci ? in.find_gpu(*gpu.pci) : nullptr;
}

// The log is the same one, grown: lines that both hold are old. A line that repeats counts as often
// as it is there.
std::vector<const XidEvent*> new_xids(const Machine& before, const Machine& after) {
  std::map<std::pair<std::string, std::optional<double>>, int> known;
  for (const auto& event : before.kernel_log.xids) ++known[{event.line, event.seconds}];
  std::vector<const XidEvent*> fresh;
  for (const auto& event : after.kernel_log.xids)
    if (auto& count = known[{event.line, event.seconds}]; count > 0)
      --count;
    else
      fresh.push_back(&event);
  return fresh;
}

Match lost(Match match) {
  match.title = "The GPU was lost during the tests";
  match.explanation = "It answered before the tests, and not after them.";
  return match;
}

// NVML answered for it before.
const ApiStatus* new_loss(const Gpu& before, const Gpu& after) {
  constexpr int kLost = 15, kResetRequired = 16;  // nvmlReturn_t
  const auto lost = [](const ApiStatus& error) {
    return error.call.starts_with("nvml") && (error.code == kLost || error.code == kResetRequired);
  };
  const auto it = std::ranges::find_if(after.errors, lost);
  return it == after.errors.end() || std::ranges::any_of(before.errors, lost) ? nullptr : &*it;
}

// What rose faster than it may is an error.
void hold_to_limit(const doctor::CounterLimit& limit, const std::vector<doctor::Change>& changes,
                   double seconds, Match& match) {
  const double hours = seconds / 3600;
  std::uint64_t rise = 0;
  for (const auto& change : changes)
    if (change.source.starts_with(limit.counter)) rise = std::max(rise, change.rise);
  if (static_cast<double>(rise) <=
      std::max(static_cast<double>(limit.at_once), limit.per_hour * hours))
    return;
  match.severity = Severity::error;
  match.evidence.push_back(doctor::evidence(
      "limit", fmt::format("{} in {:.1f} s, and {} at once or {:.0f} an hour is the most: {}", rise,
                           seconds, limit.at_once, limit.per_hour, limit.source)));
}

}  // namespace

std::vector<Finding> compare_before_and_after(const Machine& before, const Machine& after,
                                              double seconds) {
  std::vector<doctor::ReportedCause> told;
  const auto tell = [&](std::string_view id, Match match) {
    told.push_back(doctor::tell(doctor::find_cause(id), std::move(match), after));
  };
  for (const auto& gpu : after.gpus) {
    const auto* old = pair_of(gpu, before);
    if (!old) continue;
    auto changes = doctor::lasting_increases(*old, gpu);
    for (auto& change : doctor::running_increases(*old, gpu)) changes.push_back(std::move(change));
    std::map<std::string_view, Match> by_id;
    for (const auto& change : changes) {
      auto& match = by_id.try_emplace(change.id, doctor::about(gpu)).first->second;
      match.evidence.push_back(doctor::evidence(change.source, change.quote));
    }
    for (const auto& limit : doctor::counter_limits())
      if (const auto found = by_id.find(limit.id); found != by_id.end())
        hold_to_limit(limit, changes, seconds, found->second);
    if (const int then = doctor::links_up(*old), now = doctor::links_up(gpu); now < then)
      by_id.try_emplace("nvlinks-lost", doctor::about(gpu))
          .first->second.evidence.push_back(
              doctor::evidence("NVLinks up", fmt::format("{} before, {} after", then, now)));
    if (const ApiStatus* loss = new_loss(*old, gpu))
      by_id.try_emplace("gpu-lost", lost(doctor::about(gpu)))
          .first->second.evidence.push_back(doctor::evidence(loss->call, loss->name));
    for (auto& [id, match] : by_id) tell(id, std::move(match));
  }
  for (const auto& old : before.gpus) {
    if (old.faked || pair_of(old, after)) continue;
    Match match = lost({});
    if (old.pci) match.pci.push_back(*old.pci);
    match.evidence.push_back(doctor::evidence("before", old.name));
    match.evidence.push_back(doctor::evidence("after", "the GPU is no longer there"));
    tell("gpu-lost", std::move(match));
  }
  for (const auto* event : new_xids(before, after)) {
    Match match = doctor::about_xid(event->code);
    if (event->pci) {
      auto place = doctor::about(after, *event->pci);
      match.gpus = std::move(place.gpus);
      match.pci = std::move(place.pci);
    }
    match.evidence.push_back(doctor::evidence(event->source, event->line));
    tell("new-xid", std::move(match));
  }
  return doctor::fold(std::move(told), after);
}

}  // namespace gpuready
