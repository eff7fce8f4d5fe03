// The tables of a report that differ in one size of the workload: how the stacks' times go with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/record/run_record.h"

namespace gpuready::bench {

struct SweepPoint {
  std::uint64_t size = 0;
  double p50_ns = 0;
};
struct SweepStack {
  std::string id;
  std::vector<SweepPoint> points;  // by size; only where the stack is ranked
};
struct Sweep {
  std::string axis;                  // "batch"; "k = m = n" where these grow together
  Workload workload;                 // what stays the same, so without the axis in its shape
  std::string machine;               // its fingerprint
  std::vector<std::uint64_t> sizes;  // in order, at least kLeastSizes
  std::vector<SweepStack> stacks;    // in the order of their first times
  std::size_t older = 0;             // tables of a size that a later one replaces
};

inline constexpr std::size_t kLeastSizes = 3;

std::vector<Sweep> sweeps_of(const std::vector<RunRecord>& runs);

}  // namespace gpuready::bench
