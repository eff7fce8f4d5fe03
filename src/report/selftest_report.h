// The outcome of `gpuready selftest`: the detection rate of every fault class and test.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpuready/verdict.h"
#include "report/report.h"

namespace gpuready {

struct SelfTestRow {
  std::string subject, executor;     // "GPU 0", "cuda"
  std::string test;                  // "memory"
  std::optional<std::string> fault;  // "bitflip"; absent: clean runs
  std::uint64_t faults = 1;          // injected in each trial
  VerdictStatus status = VerdictStatus::not_tested;
  std::string reason;
  std::uint64_t trials = 0;
  std::uint64_t detected = 0;           // clean runs: false alarms are trials - detected
  std::optional<std::uint64_t> placed;  // trials whose places were reported exactly
  double duration_ms = 0;

  // What the rate is of: of clean runs false alarms, of others detected faults.
  std::uint64_t counted() const { return fault ? detected : trials - std::min(detected, trials); }
};

struct SelfTestReport : Envelope {
  std::uint64_t seed = 0;
  std::vector<SelfTestRow> rows;
};

// Sets `exit` and `conclusion`: 0 when each row found what it must, 1 when one did not, 4 when
// something was not tried.
void conclude(SelfTestReport& report);

std::string render_terminal(const SelfTestReport& report, const TerminalStyle& style);

}  // namespace gpuready
