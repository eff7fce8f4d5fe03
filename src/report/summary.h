// What follows from a Report, computed once, so that every renderer says the same.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/named.h"
#include "report/report.h"

namespace gpuready {

// How a thing should look: its colour on a terminal and in HTML.
enum class Tone { good, warn, bad, neutral };

enum class GpuState {
  ready,         // every obligation that it owes is held
  attention,     // ready, but with a warning
  degraded,      // an obligation is degraded, and not accepted
  in_part,       // its MIG instances here are ready; nothing is known of the rest
  not_ready,     // unusable, failed, or an error is known
  unknown,       // a test timed out or was inconclusive
  not_tested,    // a test was asked for and did not happen
  in_use,        // not tested, because others use it
  suspended,     // asleep, and left so
  no_problem,    // diagnosed without a finding; nothing was tested
  warned,        // diagnosed with a warning; nothing was tested
  found,         // detected; nothing more was asked
  hidden,        // CUDA_VISIBLE_DEVICES gives this environment other GPUs
  not_ours,      // on the host's bus, and not given to this container or job
  display_only,  // it serves displays, and nothing here asks it to compute
  not_proven,    // it passed, through a library that a variable names
  faked,
};
std::string_view to_text(GpuState state);  // for people: "ready", "not ready", ...
bool is_ready(GpuState state);             // work can be given to it: ready, attention, in_part
bool is_set_apart(GpuState state);  // neither tested nor counted: hidden, not_ours, display_only
Tone tone_of(GpuState state);
Tone tone_of(VerdictStatus status);
Tone tone_of(Severity severity);
Tone tone_of(Exit exit);

struct Figure {
  std::string name;  // "write address": the metric's name without "_rate"
  double value = 0;
  std::string unit;
  std::optional<double> of_copy_rate;  // 1.0 = as fast as a copy; measured in the same run
  std::optional<double> threshold;
  bool below_threshold = false;
};

struct TestSummary {
  const Verdict* verdict = nullptr;
  std::optional<int> gpu;   // index into Machine::gpus; absent: the host or not matched
  std::optional<int> peer;  // the other GPU of a pair
  Tone tone = Tone::neutral;
  std::optional<double> tested_of_total, tested_of_free;  // fractions; absent when not known
  std::vector<Figure> rates;                              // per second; without the copy rates
  std::vector<Figure> slowest_rates;  // of memory the slowest of each kind of pass, else all
  std::optional<double> copy_bytes_per_second;
  std::vector<const Metric*> others;  // metrics other than rates
  std::string main_figure;            // the one that stands for the test: "791 TFLOP/s"
  std::vector<std::string> figures;   // what tells most first: "132 of 132 SMs", ...
};

// What was tested, with all that was tested on it: a line of a table.
struct TestRow {
  std::string subject;             // "GPU 0", "GPU 0 MIG 1g.18gb", "the host"
  std::vector<std::size_t> tests;  // indices into Summary::tests; a pair's are in both rows
};

// All verdicts of one test in one row, by the worst of them.
struct TestCell {
  VerdictStatus status = VerdictStatus::not_tested;
  Tone tone = Tone::neutral;
  std::string text;  // "4.22 TB/s", "7 pairs", "not tested", "5 of 7" that passed
};

struct GpuSummary {
  const Gpu* gpu = nullptr;
  GpuState state = GpuState::found;
  std::string reason;                 // one sentence, where there is one to tell
  std::vector<std::size_t> tests;     // indices into Summary::tests
  std::vector<std::string> problems;  // titles of the findings about it
  std::vector<Obligation> obligations;
};

struct Summary {
  // "FAKED (cuda): ...", "NOT THE SYSTEM'S DRIVER (GPUREADY_LIBCUDA=...): ..." shown first
  std::optional<std::string> faked;
  std::optional<std::string> no_gpu;  // "No GPU in this machine: ..." unless already told
  std::string conclusion;
  Tone tone = Tone::neutral;  // of the conclusion; never good where no GPU can compute
  std::vector<GpuSummary> gpus;
  std::vector<TestSummary> tests;
  std::vector<std::string> test_names;  // of the tests that there are, in their order
  std::vector<TestRow> test_rows;
  std::optional<std::string> injected;      // "FAULT INJECTED (bitflip): ..." shown first
  std::vector<TestSummary> fitness;         // of the host: memory, disk, versions, network
  int ready = 0;                            // GPUs in state ready, attention or in_part
  int errors = 0, warnings = 0, infos = 0;  // root findings
  std::vector<const VulkanDevice*> software_devices;  // llvmpipe and its like
};

// GPUs whose obligations ended alike: which are held, and what there is to say of each other one.
struct OwedGroup {
  std::vector<int> gpus;
  std::vector<std::string> held;  // "identity", "host link"
  // But for those that nobody asked for: "identity, clock not judged: ...", and how it looks.
  std::vector<std::pair<std::string, Tone>> not_held;
  bool operator==(const OwedGroup& other) const {
    return held == other.held && not_held == other.not_held;
  }
};
Tone tone_of(const Obligation& owed);
std::vector<OwedGroup> owed_groups(const Summary& summary);

// The Report must outlive the Summary.
Summary summarize(const Report& report);

// The verdicts of this test in this row; nothing where there is none.
std::optional<TestCell> test_cell(const Summary& summary, const TestRow& row,
                                  std::string_view test);

// A metric's value with its unit: "791 TFLOP/s", "4.22 TB/s", "698 W", "0.997".
std::string quantity_text(double value, std::string_view unit);
std::string figure_text(const Figure& figure);  // "4.28 TB/s 99%": of the copy rate
// "write address" for "write_address_rate"
std::string metric_title(std::string_view name);
// "SM 17, fp32 fma, result 1203: expected 0x.., got 0x.. (bits 0x..)"
// "SM 17", "thread 3" on a CPU, "group 4" (a work group) where units have no names.
std::string unit_name(unsigned unit, std::string_view executor);
std::string mismatch_text(const Mismatch& mismatch, std::string_view executor,
                          bool with_bits = true);
// "132 of 132 SMs"
std::string units_text(const UnitCoverage& units, std::string_view executor);

// "gen 5 x16", or "gen 1 of 5, x8 of 16" when the link could do more.
std::optional<std::string> link_text(const PcieLink& now, const PcieLink& max);
// "driver 580.159.04 (open)", "CUDA 13.0", "ROCm 6.2": the parts of a headline.
std::vector<std::string> driver_texts(const Machine& machine);
// What doctor looked at: "No findings: looked at ..." names it.
std::string looked_at(const Machine& machine);
// "139.3 of 139.8 GiB"
std::string coverage_text(const Coverage& coverage);
// "GPU 0, GPU 3" or "0000:17:00.0"; empty for the whole machine.
std::string concerned_text(const Finding& finding);
// "first 2026-03-01T12:00:00Z, last 2026-03-01T13:00:00Z; python3 (process 4242) used the GPU"
std::string logged_text(const Logged& logged);
// "offset 0x1000: expected 0x.., read 0x.. (2 bits: 0x..) in pass address"
std::string bad_word_text(const BadWord& word);

}  // namespace gpuready

namespace gpuready {
NAMES_OF(GpuState, "ready", "attention", "degraded", "ready_in_part", "not_ready", "unknown",
         "not_tested", "in_use", "suspended", "no_problem", "warned", "found", "hidden", "not_ours",
         "display_only", "not_proven", "faked");
}  // namespace gpuready
