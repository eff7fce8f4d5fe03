// What follows from a Report, computed once, so that every renderer says the same.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace gpuready {

std::string_view exit_meaning(Exit exit);

// How a thing should look: its colour on a terminal and in HTML.
enum class Tone { good, warn, bad, neutral };

enum class GpuState {
  ready,       // a test passed on it and nothing speaks against it
  attention,   // ready, but with a warning
  not_ready,   // unusable, failed, or an error is known
  unknown,     // a test timed out or was inconclusive
  not_tested,  // a test was asked for and did not happen
  suspended,   // asleep, and left so
  no_problem,  // diagnosed without a finding; nothing was tested
  warned,      // diagnosed with a warning; nothing was tested
  found,       // detected; nothing more was asked
  faked,
};
std::string_view to_text(GpuState state);   // for people: "ready", "not ready", ...
std::string_view to_label(GpuState state);  // for machines: "ready", "not_ready", ...
Tone tone_of(GpuState state);
Tone tone_of(VerdictStatus status);
Tone tone_of(Severity severity);
Tone tone_of(Exit exit);
std::string status_text(VerdictStatus status);  // for people: "not tested"

struct Rate {
  std::string name;  // "write address": the metric's name without "_rate"
  double bytes_per_second = 0;
  std::optional<double> of_copy_rate;  // 1.0 = as fast as a copy; measured in the same run
  std::optional<double> threshold_bytes_per_second;
  bool below_threshold = false;
};

struct TestSummary {
  const Verdict* verdict = nullptr;
  std::optional<int> gpu;  // index into Machine::gpus; absent: host memory or not matched
  Tone tone = Tone::neutral;
  std::optional<double> tested_of_total, tested_of_free;  // fractions; absent when not known
  std::vector<Rate> rates;                                // every pass; without the copy rates
  std::vector<Rate> slowest_rates;  // the slowest of each kind of pass: "write", "verify"
  std::optional<double> copy_bytes_per_second;
  std::vector<const Metric*> others;  // metrics that are no rate
};

struct GpuSummary {
  const Gpu* gpu = nullptr;
  GpuState state = GpuState::found;
  std::string reason;                 // one sentence, where there is one to tell
  std::vector<std::size_t> tests;     // indices into Summary::tests
  std::vector<std::string> problems;  // titles of the findings about it
};

struct Summary {
  std::optional<std::string> faked;   // "FAKED (cuda): ..." to be told first
  std::optional<std::string> no_gpu;  // "No GPU in this machine: ..." unless already told
  std::string conclusion;
  Tone tone = Tone::neutral;  // of the conclusion; never good where no GPU was proven
  std::vector<GpuSummary> gpus;
  std::vector<TestSummary> tests;
  std::vector<TestSummary> fitness;         // of the host: memory, disk, versions, network
  int ready = 0;                            // GPUs in state ready or attention
  int errors = 0, warnings = 0, infos = 0;  // root findings
  std::vector<const VulkanDevice*> software_devices;  // llvmpipe and its like
};

// The Report must outlive the Summary.
Summary summarize(const Report& report);

// "gen 5 x16", or "gen 1 of 5, x8 of 16" when the link could do more.
std::optional<std::string> link_text(const PcieLink& now, const PcieLink& max);
// "driver 580.159.04 (open)", "CUDA 13.0", "ROCm 6.2": what stands in a headline.
std::vector<std::string> driver_texts(const Machine& machine);
// What doctor looked at: "No findings: looked at ..." names it.
std::string looked_at(const Machine& machine);
// "139.3 of 139.8 GiB"
std::string coverage_text(const Coverage& coverage);
// "GPU 0, GPU 3" or "0000:17:00.0"; empty for the whole machine.
std::string concerned_text(const Finding& finding);
// "offset 0x1000: expected 0x.., read 0x.. (2 bits: 0x..) in pass address"
std::string bad_word_text(const BadWord& word);

}  // namespace gpuready
