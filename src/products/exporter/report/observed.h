// What the exporter has seen so far: each sample is folded into it, and the page is rendered from
// it. Pure; times are seconds of one monotonic clock, those of kept results are Unix seconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/kept_results.h"
#include "report/report.h"

namespace gpuready::exporter {

struct SeenGpu {
  Gpu gpu;         // as it answered last
  int number = 0;  // the label `gpu`; it keeps this number when others disappear
  double seen_at = 0;
  bool present = true, answers = true;  // in the latest sample
};

// Xids of one code of one GPU that the kernel log reported.
struct XidCount {
  PciAddress slot;
  int code = 0;
  std::uint64_t count = 0;
  double newest = 0;  // seconds since boot
};

struct Observed {
  double started_at = 0;
  std::optional<Report> report;  // of the latest sample that was complete, concluded
  std::vector<SeenGpu> gpus;     // by number
  std::vector<XidCount> xids;
  std::vector<XidEvent> standing;  // the latest Xid of each GPU that nothing has cleared
  KeptResults kept;
  std::optional<std::string> kept_error;
  std::optional<double> asked_at;  // since when a sample is being taken
  std::optional<double> sampled_at, answered_at;
  double duration_seconds = 0;  // of the latest sample
  double answer_seconds = 0;    // of the latest that the driver answered
  std::uint64_t answered = 0, unanswered = 0, failed = 0;
  std::optional<std::string> silence;  // why the latest sample has no answer of the driver
};

// Why this machine's drivers gave no answer, if one did not.
std::optional<std::string> silence_of(const Machine& machine);

// A complete sample. GPUs that it lacks stay, unless a new one has their place.
void note_sample(Observed& seen, Report report, double now);
// A sample that came to nothing.
void note_failure(Observed& seen, std::string why, double now);

// For how long the driver has not answered; 0 while it does, or may still answer in time.
double unanswered_seconds(const Observed& seen, double now);

}  // namespace gpuready::exporter
