#include "bench/compare/stack_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"

namespace gpuready::bench {
namespace {

using Ids = std::vector<std::string>;

bool has(const Ids& ids, std::string_view id) { return std::ranges::find(ids, id) != ids.end(); }

Ids stacks_of(const Side& side) {
  Ids ids;
  for (const auto& run : side.runs)
    for (const auto& stack : run.stacks)
      if (!has(ids, stack.id)) ids.push_back(stack.id);
  return ids;
}

bool could_be_run(const Side& side, std::string_view id) {
  return std::ranges::any_of(side.runs, [&](const RunRecord& run) {
    const StackResult* stack = run.stack(id);
    return stack != nullptr && stack->status != StackStatus::unavailable;
  });
}

using Pair = std::pair<std::string, std::string>;

// An id that both sides have, before any way to read it as two.
std::optional<Pair> pair_of(std::string_view name, const Ids& ours, const Ids& theirs) {
  if (has(ours, name) && has(theirs, name)) return Pair(name, name);
  for (auto equals = name.find('='); equals != name.npos; equals = name.find('=', equals + 1))
    if (const auto left = name.substr(0, equals), right = name.substr(equals + 1);
        has(ours, left) && has(theirs, right))
      return Pair(left, right);
  // One that a side alone has: the other lost it.
  if (has(ours, name) || has(theirs, name)) return Pair(name, name);
  return std::nullopt;
}

Error not_there(std::string_view name, const Side& base, const Side& candidate, const Ids& ours,
                const Ids& theirs) {
  const auto equals = name.find('=');
  const auto left = name.substr(0, equals), right = name.substr(equals + 1);  // npos + 1 is 0
  const auto text = [](const Side& side, std::string_view id, const Ids& ids) {
    return fmt::format("{} has no result of the stack {}; it has {}", side.name, id,
                       join(ids, ", "));
  };
  return {ErrorKind::bad_input,
          has(ours, left) ? text(candidate, right, theirs) : text(base, left, ours)};
}

}  // namespace

Result<void> check_verified(const Side& base, const Side& candidate, const StackPairs& pairs) {
  for (const auto& [ours, theirs] : pairs) {
    bool verified = false;
    std::string unverified;
    for (const auto& [side, id] : {std::pair(&base, &ours), std::pair(&candidate, &theirs)})
      for (const auto& run : side->runs)
        if (const auto* stack = run.stack(*id); stack && stack->status == StackStatus::ok) {
          verified |= stack->is_verified();
          if (!stack->is_verified()) unverified = *id + " of " + side->name;
        }
    if (!unverified.empty() && (verified || ours != theirs))
      return fail(
          ErrorKind::bad_input,
          fmt::format("{} gave no digest of its output, so nothing shows that {} and {} did "
                      "the same work. Compare it with itself without a digest, or choose "
                      "other stacks with --stack",
                      unverified, ours, theirs));
  }
  return {};
}

std::vector<std::string> parts_of_list(std::string_view list,
                                       const std::function<bool(std::string_view)>& known) {
  // For each end of a part: the fewest parts of what lies before it, and where the last begins.
  std::vector<std::size_t> ends;
  for (auto comma = list.find(','); comma != list.npos; comma = list.find(',', comma + 1))
    ends.push_back(comma);
  ends.push_back(list.size());
  struct Way {
    std::size_t parts = 0, from = 0;
    std::optional<std::size_t> before;  // place in `ends`
  };
  std::vector<std::optional<Way>> ways(ends.size());
  for (std::size_t i = 0; i < ends.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      if (j > 0 && !ways[j - 1]) continue;
      const std::size_t from = j == 0 ? 0 : ends[j - 1] + 1;
      const std::size_t parts = j == 0 ? 1 : ways[j - 1]->parts + 1;
      if (ways[i] && ways[i]->parts <= parts) continue;
      if (known(list.substr(from, ends[i] - from)))
        ways[i] = Way{parts, from, j == 0 ? std::nullopt : std::optional(j - 1)};
    }
  std::vector<std::string> parts;
  if (!ways.back()) {
    std::size_t from = 0;
    for (const auto end : ends) {
      if (end > from) parts.emplace_back(list.substr(from, end - from));
      from = end + 1;
    }
    return parts;
  }
  for (std::optional<std::size_t> i = ends.size() - 1; i; i = ways[*i]->before)
    parts.emplace_back(list.substr(ways[*i]->from, ends[*i] - ways[*i]->from));
  std::ranges::reverse(parts);
  return parts;
}

Result<StackPairs> pairs_of(const Side& base, const Side& candidate,
                            const std::vector<std::string>& wanted) {
  const auto ours = stacks_of(base), theirs = stacks_of(candidate);
  const auto known = [&](std::string_view name) { return !!pair_of(name, ours, theirs); };
  StackPairs pairs;
  const auto add = [&](Pair pair) {
    if (std::ranges::find(pairs, pair) == pairs.end()) pairs.push_back(std::move(pair));
  };
  for (const auto& list : wanted)
    for (const auto& name : parts_of_list(list, known)) {
      auto pair = pair_of(name, ours, theirs);
      if (!pair) return std::unexpected(not_there(name, base, candidate, ours, theirs));
      add(std::move(*pair));
    }
  if (!wanted.empty() && pairs.empty())
    return std::unexpected(not_there("", base, candidate, ours, theirs));
  if (!pairs.empty()) return pairs;
  // As in the playbook: one tag a stack.
  if (ours.size() == 1 && theirs.size() == 1) return StackPairs{{ours[0], theirs[0]}};
  bool in_common = false;
  for (const auto* ids : {&ours, &theirs})
    for (const auto& id : *ids) {
      if (!could_be_run(base, id) && !could_be_run(candidate, id)) continue;
      in_common |= has(ours, id) && has(theirs, id);
      add({id, id});
    }
  if (!in_common)
    return fail(ErrorKind::bad_input,
                fmt::format("{} and {} have no stack in common: {} against {}; name two with "
                            "--stack A=B",
                            base.name, candidate.name, ours.empty() ? "none" : join(ours, ", "),
                            theirs.empty() ? "none" : join(theirs, ", ")));
  return pairs;
}

}  // namespace gpuready::bench
