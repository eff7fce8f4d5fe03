// What the records of the compute test's launches say, added up.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "health/compute/reference.h"

namespace gpuready {

struct WrongSum {
  unsigned unit, op;
  std::uint64_t expected, actual;  // checksums
  auto operator<=>(const WrongSum&) const = default;
};

// What every record of a launch must say.
struct ExpectedRecord {
  std::uint64_t nonce = 0;
  std::span<const unsigned> ops;
  std::uint64_t results = 0;
  const ComputeChecksums* checksums = nullptr;
};
ExpectedRecord expected_record(const ComputeWork& work, std::uint64_t nonce,
                               std::span<const unsigned> ops, const ComputeChecksums& checksums);

// The least time that each unit took for the same work.
class UnitTimes {
 public:
  void add(unsigned unit, std::uint64_t ticks);
  struct Spread {
    double median = 0, slowest = 0;  // ticks; the lower median of an even number
    unsigned slowest_unit = 0;
    double ratio() const { return median > 0 ? slowest / median : 1; }
  };
  std::optional<Spread> spread() const;  // absent below two units: nothing to compare with
  std::vector<unsigned> slower_than(double ratio) const;

 private:
  std::map<unsigned, std::uint64_t> least_;
};

struct ComputeTally {
  std::set<unsigned> units;  // that did all of it, by their own name
  std::set<WrongSum> wrong;
  std::uint64_t results = 0;     // counted by the units, of sums that were right
  std::uint64_t incomplete = 0;  // blocks that left out operations or results
  std::uint64_t moved = 0;       // blocks that were not on one unit all the time

  void add(std::span<const ComputeRecord> records, const ExpectedRecord& expected);
};
// Each unit once, and the time that its block took; empty when two blocks shared a unit.
std::map<unsigned, std::uint64_t> unit_ticks(std::span<const ComputeRecord> records,
                                             std::uint64_t nonce);
// For each operation the checksum that most units have.
ComputeChecksums majority_checksums(std::span<const ComputeRecord> records, std::uint64_t nonce,
                                    std::span<const unsigned> ops);

}  // namespace gpuready
