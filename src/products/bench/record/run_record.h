// What one benchmark run is: the same workload on several compiler stacks, in one session on one
// machine. `bench run` and the imports make it; compare, promote, history and reports read it.
// Samples are kept raw; every figure of latency is worked out from them (latency_of()).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/named.h"
#include "base/result.h"

namespace gpuready::bench {

enum class StackStatus {
  ok,
  unavailable,       // it is not installed here, or cannot do this workload
  error,             // it failed, hung or answered with garbage
  different_work,    // it computed another graph, dtype or shape, or its output differs
  not_believable,    // it states times that cannot be true (plausibility.h)
  no_valid_samples,  // all were taken while the GPU was throttled
};

struct BenchedGpu {
  std::string name, uuid;
  std::string memory_total = {}, compute_capability = {};  // "81559 MiB", "9.0"
  bool operator==(const BenchedGpu&) const = default;
};

// What a run's results depend on and what stays the same from run to run: never a reading of a
// clock, a load or a free size.
struct Environment {
  std::vector<BenchedGpu> gpus;  // that the workload ran on
  std::string driver_version;    // of the GPU
  std::string cuda_version;      // that the driver supports
  std::string kernel_release, os_name, cpu_model;
  std::optional<std::uint64_t> cpu_cores;  // that this process may use: its affinity
  std::string cpu_affinity;                // which they are: "0-3,8"
  std::string cpu_governor;                // of their clocks; several: "performance, powersave"
  std::optional<double> cpu_limit;         // of cgroups, in CPUs' time; nothing without one
  std::map<std::string, std::string> variables;  // that its stacks are given (child_variables.h)

  // The first 16 hexadecimal digits of the SHA-256 of all but `variables` and `cpu_affinity`: the
  // machine as it was set up.
  std::string fingerprint() const;
  bool operator==(const Environment&) const = default;
};

struct Workload {
  std::string name;  // mlp, gemm, attention, copy, ternary; a program's own
  std::map<std::string, std::uint64_t> shape;  // batch, hidden; m, n, k
  std::string dtype;                           // fp32, tf32, bf16, fp16
  std::string device;                          // cuda, cpu, vulkan
  // Of one iteration, by definition. Rows: what callers count (the batch); elements: what PyC's
  // suite calls tokens (batch x hidden).
  std::optional<std::uint64_t> rows, elements, flops, bytes;
  bool operator==(const Workload&) const = default;
};

// "mlp batch=64 hidden=2048": one name of the work.
std::string workload_key(const Workload& workload);

struct Protocol {
  std::optional<std::uint64_t> iters, warmup, repeats;  // as asked for
  std::optional<std::uint64_t> seed;                    // of the order of the stacks
  std::optional<std::uint64_t> input_seed;              // of the inputs, drawn for each run
  std::optional<double> until_percent;  // repeats go on until the times are known so well
  std::optional<double> max_seconds;    // of timing in one process, as asked for
  std::string origin;  // gpuready, google-benchmark, pyc and the like: who timed it
  bool clocks_locked = false;
  std::optional<std::uint64_t> locked_mhz;  // of the GPU's SMs
  std::optional<bool> startups_overlapped;  // adapters prepared together, none beside timing
  // Then its stacks did one and the same work; the benchmarks of another program need not have.
  bool is_ours() const { return origin.empty() || origin == "gpuready"; }
  bool operator==(const Protocol&) const = default;
};

// What the machine reaches at most, measured in the same session; for --normalise.
struct Roofline {
  std::optional<double> flops_per_s;  // in the workload's dtype
  std::optional<double> bytes_per_s;  // read and written
  bool operator==(const Roofline&) const = default;
};

inline constexpr double kNsPerMs = 1e6, kNsPerS = 1e9;  // units of other programs' times

// Of one iteration in the steady state. Where samples are there, it follows from them.
struct Latency {
  std::optional<double> mean_ns, p50_ns, p95_ns, min_ns, max_ns;
  bool operator==(const Latency&) const = default;
};

// Means over a repeat, sampled beside it.
struct Conditions {
  std::optional<double> sm_mhz, memory_mhz, power_mw, gpu_celsius;
  std::vector<std::string> throttle_reasons;  // seen at least once
  bool operator==(const Conditions&) const = default;
};

// What else used the machine. Runs whose loads differ much are not compared (differences.cc).
struct Load {
  // Of the time of the CPUs that the run may use, while it lasted: what other programs took, and
  // other guests of a virtual machine's host.
  std::optional<double> others_cpu_percent;
  // Of the run's GPU, before it used it: processes that had it open, and its utilisation.
  std::optional<std::uint64_t> gpu_processes;
  std::optional<double> gpu_percent;
  bool operator==(const Load&) const = default;
};

// One process of one stack.
struct Repeat {
  std::uint64_t position = 0;  // in the run's order over all stacks, from 0
  StackStatus status = StackStatus::ok;
  std::string reason;                    // in one sentence, where the status is not ok
  std::vector<double> samples_ns;        // each the time of one iteration, in order
  std::vector<std::uint64_t> throttled;  // which of them (from 0) were taken under throttling
  std::vector<double> cold_samples_ns;   // with caches flushed before each
  Latency reported;                      // by a stack that gives no samples
  std::optional<double> setup_ms, compile_ms, first_run_ms;  // setup contains the compilation
  std::optional<double> energy_mj;                           // of one iteration
  std::string no_energy;                                     // why not, though power was read
  std::optional<std::uint64_t> flops_done;                   // in one iteration, as the stack says
  std::optional<std::uint64_t> memory_peak_bytes;            // seen from outside
  std::string memory_seen;                                   // as what: device_used, resident
  std::optional<std::uint64_t> self_memory_peak_bytes;       // as the stack says of itself
  std::vector<double> digest;      // of its output: products with fixed random vectors
  std::optional<bool> unverified;  // it gave no digest, so nothing shows which work it did
  std::vector<std::string> notes;  // of the stack, such as the algorithms that it chose
  Conditions conditions;

  // The samples that count: those not taken under throttling.
  std::vector<double> valid_samples() const;
  bool operator==(const Repeat&) const = default;
};

struct StackResult {
  std::string id;            // gpuready, torch_eager
  std::string display_name;  // where it is not the id
  std::string mode;          // native, or proxy: another stack in its place
  StackStatus status = StackStatus::ok;
  std::string reason;              // in one sentence, where the status is not ok
  std::string cure;                // how to get a stack that is unavailable
  std::optional<bool> unverified;  // as a repeat of it: it is compared only with itself
  std::optional<bool> reference;   // made to be checked against: it is timed and not ranked
  std::map<std::string, std::string> versions;  // torch: 2.3.0
  std::map<std::string, std::string> settings;  // compile_mode: max-autotune; threads: 8
  // What its process has beside Environment::variables, or in place of them.
  std::map<std::string, std::string> variables;
  std::vector<std::string> command;  // what was run
  std::vector<Repeat> repeats;

  bool is_verified() const { return !unverified.value_or(false); }
  bool is_contestant() const { return is_verified() && !reference.value_or(false); }
  std::string_view name() const { return display_name.empty() ? id : display_name; }
  bool operator==(const StackResult&) const = default;
};

struct RunRecord {
  std::string tag;
  std::string id;           // unique: 20260301T120000Z-1a2b3c4d
  std::string started_utc;  // 2026-03-01T12:00:00Z
  std::string tool_version;
  std::string git_commit;  // of the project in whose folder it ran
  std::optional<bool> git_dirty;
  std::string idea;  // what this run changes, where it is a candidate
  Environment environment;
  Workload workload;
  Protocol protocol;
  std::optional<Load> load;
  std::optional<Roofline> roofline;
  std::vector<StackResult> stacks;
  std::vector<std::string> notes;
  // It was ended before all repeats had run. What it holds is true, and it is not a whole run: it
  // is not ranked, compared or kept in the history.
  std::optional<bool> interrupted;
  bool is_whole() const { return !interrupted.value_or(false); }
  // Of each stack; nothing where each is repeated as long as that teaches something.
  std::optional<std::uint64_t> repeats_due() const;
  bool is_timed() const;  // at least one stack did the work and has a time

  const StackResult* stack(std::string_view id) const;
};

// Percentiles of fewer samples than this are reported and not ranked: of p95, at least ten samples
// lie beyond it.
inline constexpr std::size_t kSamplesForP95 = 200;

// The value below which a share `p` (0 to 1) of the samples lies, between neighbours in proportion
// (Hyndman and Fan's type 7, as numpy has it). Nothing for none.
std::optional<double> percentile(std::vector<double> samples, double p);

// Of the valid samples; where a repeat has none at all, what the stack reported.
Latency latency_of(const Repeat& repeat);
// Of a stack: of each figure the median over the repeats that are ok, so that one bad process does
// not carry it.
Latency latency_of(const StackResult& stack);
// The p95 that tables show and comparisons use: of the samples of all these repeats, since one
// alone seldom has enough; of a stack without samples, that of latency_of().
std::optional<double> p95_of(const StackResult& stack);

// Of all repeats that are ok.
std::vector<double> valid_samples_of(const StackResult& stack);
// Whether its samples are enough for p95.
inline bool p95_counts(const StackResult& stack) {
  return valid_samples_of(stack).size() >= kSamplesForP95;
}

Json to_json(const RunRecord& run);
// `name` is what errors call the document. Refuses what would make later figures nonsense: a sample
// that is not a positive number, a throttled sample that is not there, a second stack of one id.
Result<RunRecord> run_from_json(const Json& doc, std::string_view name);

}  // namespace gpuready::bench

namespace gpuready {
NAMES_OF(bench::StackStatus, "ok", "unavailable", "error", "different_work", "not_believable",
         "no_valid_samples");
}  // namespace gpuready
