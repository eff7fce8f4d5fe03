// A Verdict: what one test found out about one device, with everything needed to believe it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuready::inline v0 {

// "Not tested is never passed": every way of not having tested has a status of its own.
enum class VerdictStatus { passed, failed, not_tested, not_supported, timed_out, inconclusive };
std::string_view to_string(VerdictStatus status);  // "passed", "failed", "not_tested", ...

// One measured value, and what it was held against.
struct Metric {
  std::string name;  // "write_rate", "copy_rate", ... (snake_case, without the unit)
  double value = 0;
  std::string unit;                 // "B/s", "B", "ms", "1" (a ratio or a count)
  std::optional<double> threshold;  // the least that passes; absent: reported, not judged
  std::optional<std::string> threshold_source;  // where the threshold came from
};

// A word that did not read back as written.
struct BadWord {
  std::uint64_t offset_bytes = 0;  // within the tested range, which starts at 0
  std::uint64_t expected = 0;
  std::uint64_t actual = 0;
  std::string phase;  // the pass that saw it, e.g. "address" or "complement"
  std::optional<bool> repeats = std::nullopt;  // read again, and bad again; absent: not read again
  std::uint64_t bits() const { return expected ^ actual; }  // the bits that differ
};

// A computed value that is not the golden one.
struct Mismatch {
  std::string what;                             // "fp32 fma", "bf16 mma", "host to device"
  std::optional<unsigned> unit = std::nullopt;  // the SM that computed it, as it named itself
  std::uint64_t index = 0;                      // which result of that operation
  std::uint64_t expected = 0, actual = 0;       // bit patterns
};

// A value that must be the same on every device of a model.
struct Digest {
  std::string name;  // "special functions"
  std::uint64_t value = 0;
};

// SMs (or threads on a CPU) that were seen to do the work.
struct UnitCoverage {
  unsigned tested = 0, total = 0;
};

struct Coverage {
  std::uint64_t tested_bytes = 0;  // counted by the device: words verified times their size
  std::uint64_t free_bytes = 0;    // free before the test, as the driver reported it
  std::uint64_t total_bytes = 0;   // all that the driver says the device has
  std::optional<std::uint64_t> reserved_bytes;  // kept by the driver or firmware for itself
};

struct Verdict {
  std::string test;                        // "memory", "compute", "peers", ...
  std::string subject;                     // "GPU 0", "GPU 0 and GPU 1" or "the host"
  std::optional<std::string> uuid;         // of the GPU that did it, as that GPU's driver told it
  std::optional<std::string> pci_address;  // "0000:17:00.0"
  std::optional<std::string> peer_uuid;    // of the other GPU, where a pair was tested
  std::string executor;                    // "cuda", "vulkan", "cpu"
  VerdictStatus status = VerdictStatus::not_tested;
  std::string reason;  // one sentence; for passed: what was proven
  // Parts of the test that could not be done here, each with the reason: "fp8 e4m3: kernel ...
  // needs PTX 8.4 ...". They speak neither for nor against the device.
  std::vector<std::string> not_judged;
  // The number that the driver gave, in its API's own numbering (cuda: CUresult, hip: hipError_t,
  // vulkan: VkResult); absent: the verdict does not come from an error of the driver.
  std::optional<int> error_code;
  std::optional<Coverage> coverage;
  std::optional<UnitCoverage> units;
  std::vector<Metric> metrics;
  std::uint64_t bad_words_total = 0;
  std::vector<BadWord>
      bad_words;  // the first ones by address, at most 64 unless more are asked for
  std::uint64_t mismatches_total = 0;
  std::vector<Mismatch> mismatches;  // at most 64
  std::vector<Digest> digests;
  std::optional<double> started_ms;  // since the run began; absent: it did not run
  double duration_ms = 0;
  // The class of the fault that was injected on purpose: then the result says nothing about
  // the device.
  std::optional<std::string> injected_fault;
};

}  // namespace gpuready::inline v0
