#include "health/compute/tally.h"

#include "base/statistics.h"

#include <algorithm>

namespace gpuready {

ExpectedRecord expected_record(const ComputeWork& work, std::uint64_t nonce,
                               std::span<const unsigned> ops, const ComputeChecksums& checksums) {
  ExpectedRecord expected{nonce, ops, 0, &checksums};
  for (unsigned op : ops) expected.results += compute_results(op, work.count, work.shared_words);
  return expected;
}

void UnitTimes::add(unsigned unit, std::uint64_t ticks) {
  const auto [place, is_new] = least_.try_emplace(unit, ticks);
  if (!is_new) place->second = std::min(place->second, ticks);
}

std::optional<UnitTimes::Spread> UnitTimes::spread() const {
  if (least_.size() < 2) return std::nullopt;
  std::vector<double> ticks;
  const auto* slowest = &*least_.begin();
  for (const auto& entry : least_) {
    ticks.push_back(static_cast<double>(entry.second));
    if (entry.second > slowest->second) slowest = &entry;
  }
  return Spread{lower_median(std::move(ticks)), static_cast<double>(slowest->second),
                slowest->first};
}

std::vector<unsigned> UnitTimes::slower_than(double ratio) const {
  std::vector<unsigned> slow;
  const auto all = spread();
  if (!all) return slow;
  for (const auto& [unit, ticks] : least_)
    if (static_cast<double>(ticks) > ratio * all->median) slow.push_back(unit);
  return slow;
}

void ComputeTally::add(std::span<const ComputeRecord> records, const ExpectedRecord& expected) {
  unsigned long long ops_done[2] = {0, 0};
  for (unsigned op : expected.ops) ops_done[op / 64] |= 1ull << op % 64;
  for (const ComputeRecord& record : records) {
    if (record.nonce != expected.nonce) continue;  // the launcher counts those
    if (record.ops_done[0] != ops_done[0] || record.ops_done[1] != ops_done[1] ||
        record.results != expected.results) {
      ++incomplete;
      continue;
    }
    bool right = true;
    for (unsigned op : expected.ops) {
      const std::uint64_t golden = (*expected.checksums)[op];
      if (record.checksum[op] == golden) continue;
      right = false;
      wrong.insert({record.unit_at_start, op, golden, record.checksum[op]});
    }
    if (right) results += record.results;
    if (record.unit_at_start == record.unit_at_end)
      units.insert(record.unit_at_start);
    else
      ++moved;
  }
}

std::map<unsigned, std::uint64_t> unit_ticks(std::span<const ComputeRecord> records,
                                             std::uint64_t nonce) {
  std::map<unsigned, std::uint64_t> ticks;
  for (const ComputeRecord& record : records) {
    if (record.nonce != nonce || record.unit_at_start != record.unit_at_end) return {};
    if (!ticks.try_emplace(record.unit_at_start, record.ticks).second) return {};
  }
  return ticks;
}

ComputeChecksums majority_checksums(std::span<const ComputeRecord> records, std::uint64_t nonce,
                                    std::span<const unsigned> ops) {
  ComputeChecksums sums{};
  for (unsigned op : ops) {
    std::map<std::uint64_t, std::size_t> votes;
    std::size_t most = 0;
    for (const ComputeRecord& record : records) {
      if (record.nonce != nonce) continue;
      const std::size_t count = ++votes[record.checksum[op]];
      if (count > most) most = count, sums[op] = record.checksum[op];
    }
  }
  return sums;
}

}  // namespace gpuready
