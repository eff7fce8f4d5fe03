#include "slurm/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace gpuready::slurm {
namespace {

enum class Owner { nobody, us, perhaps_us, others };

// A reason that somebody edited is theirs.
Owner owner_of(const Node& node, const std::optional<Record>& record) {
  if (node.reason.empty()) return Owner::nobody;
  if (record && record->node == node.name &&
      std::ranges::find(record->reasons, node.reason) != record->reasons.end())
    return Owner::us;
  return !record && reads_as_ours(node.reason) ? Owner::perhaps_us : Owner::others;
}

constexpr std::size_t kMostReasons = 16;

void forget(Record& record) {
  record.reasons.clear(), record.causes.clear(), record.pids.clear();
  record.needs_test = std::nullopt;
}

std::vector<std::string> ids_of(const std::vector<Cause>& causes) {
  std::vector<std::string> ids;
  for (const Cause& cause : causes) ids.push_back(cause.id);
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  return ids;
}

Decision nothing(std::string why) { return {.why = std::move(why)}; }

Decision with_causes(const Situation& s, Owner owner) {
  if (owner == Owner::perhaps_us)
    return nothing("the node's reason reads as ours, but no record says that it is: left as it is");
  if (owner == Owner::others)
    return nothing("another user or program gave the node its reason: left as it is");
  if (const auto state = held_by_others(s.node))
    return nothing(fmt::format("the node is {}: left as it is", *state));
  if (owner == Owner::nobody && s.node.drained())
    return nothing("another user or program drained the node, without a reason: left as it is");
  if (owner == Owner::us && s.rehearses && !is_rehearsal(s.node.reason))
    return nothing("the node is drained for a cause of its own: left as it is");
  const bool told = owner == Owner::us && is_rehearsal(s.node.reason) == s.rehearses &&
                    std::ranges::includes(s.record->causes, ids_of(s.causes));
  if (told && s.node.drained()) return nothing("the node is drained already, for this cause");
  return {Act::drain, reason_of(s.causes), "the node is not fit for jobs"};
}

// Whether tests of at least this level have passed on all GPUs since then.
bool tested(const StatusReport& kept, Level level, std::int64_t since) {
  return kept.standing == Standing::good && !kept.results.empty() &&
         std::ranges::all_of(kept.results, [&](const KeptResult& result) {
           return result.level >= level && result.tested_unix_seconds > since;
         });
}

Decision without_causes(const Situation& s, Owner owner) {
  if (owner == Owner::nobody) return nothing("nothing is wrong");
  if (owner == Owner::others || (owner == Owner::perhaps_us && !s.adopt))
    return nothing("the reason of the node is not ours: left as it is");
  if (!s.may_resume) return nothing("only the health check resumes a node");
  if (!s.determined) return nothing("it is not known whether the cause is gone");
  if (!can_resume(s.node)) return nothing("its state is not ours to change");
  // Without a record, a good result is of this boot (status_of), and this is all that is known.
  const auto needs = owner == Owner::us ? s.record->needs_test : std::optional(Level::quick);
  const auto since = owner == Owner::us ? s.record->drained_unix_seconds : 0;
  if (s.rehearses && !is_rehearsal(s.node.reason))
    return nothing("the node is drained for a cause of its own: left as it is");
  if (s.looked_unix_seconds <= since) return nothing("the node was drained meanwhile");
  if (needs && !tested(s.kept, *needs, since))
    return nothing(
        fmt::format("the node waits for a test: gpuready check --level {}", name_of(*needs)));
  return {Act::resume, {}, needs ? "a test has passed since" : "the cause is gone"};
}

}  // namespace

Decision decide(const Situation& s) {
  const Owner owner = owner_of(s.node, s.record);
  return s.causes.empty() ? without_causes(s, owner) : with_causes(s, owner);
}

bool must_ask(const std::vector<Cause>& causes, const std::optional<Record>& record, bool adopt) {
  if (!causes.empty()) return true;
  return record ? !record->reasons.empty() : adopt;
}

std::optional<Record> record_after(const Situation& s, const Decision& decision, std::int64_t now,
                                   const std::vector<std::uint32_t>& pids) {
  if (!s.record && decision.act == Act::nothing) return std::nullopt;
  Record record = s.record.value_or(Record{});
  record.node = s.node.name;
  const bool same_boot = record.boot_id == s.boot_id;
  if (decision.act == Act::drain) {
    // A later cause does not excuse from the test that an earlier one needs, if that still stands.
    const bool still_ours = owner_of(s.node, s.record) == Owner::us;
    if (!still_ours) record.needs_test = std::nullopt, record.pids = {};
    for (const Cause& cause : s.causes)
      if (cause.needs_test)
        record.needs_test = std::max(record.needs_test.value_or(Level::quick), *cause.needs_test);
    // What comes and goes is not cured by going.
    if (same_boot && record.resumed_on_sight > 0)
      record.needs_test = record.needs_test.value_or(Level::quick);
    if (!still_ours) record.reasons.clear();
    if (record.reasons.size() == kMostReasons) record.reasons.erase(record.reasons.begin());
    record.reasons.push_back(decision.reason);
    record.causes = ids_of(s.causes);
    if (still_ours) {
      std::vector<std::string> all;
      std::ranges::set_union(record.causes, s.record->causes, std::back_inserter(all));
      record.causes = std::move(all);
    }
    record.pids.insert(record.pids.end(), pids.begin(), pids.end());
    record.drained_unix_seconds = now;
  } else if (decision.act == Act::resume) {
    if (!same_boot) record.resumed_on_sight = 0;
    if (!record.needs_test) ++record.resumed_on_sight;
    record.boot_id = s.boot_id;
    forget(record);
  } else if (s.causes.empty() && s.determined && owner_of(s.node, s.record) != Owner::us) {
    // A user resumed the node, or changed its reason.
    forget(record);
  }
  return record;
}

}  // namespace gpuready::slurm
