// A Verdict: what one test found out about one device, with everything needed to believe it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuready {

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
  std::uint64_t bits() const { return expected ^ actual; }  // the bits that differ
};

struct Coverage {
  std::uint64_t tested_bytes = 0;  // counted by the device: words verified times their size
  std::uint64_t free_bytes = 0;    // free before the test, as the driver reported it
  std::uint64_t total_bytes = 0;   // all that the driver says the device has
  std::optional<std::uint64_t> reserved_bytes;  // kept by the driver or firmware for itself
};

struct Verdict {
  std::string test;                        // "memory"
  std::string subject;                     // "GPU 0" or "host memory"
  std::optional<std::string> uuid;         // of the GPU that did it, as that GPU's driver told it
  std::optional<std::string> pci_address;  // "0000:17:00.0"
  std::string executor;                    // "cuda", "vulkan", "cpu"
  VerdictStatus status = VerdictStatus::not_tested;
  std::string reason;  // one sentence; for passed: what was proven
  std::optional<Coverage> coverage;
  std::vector<Metric> metrics;
  std::uint64_t bad_words_total = 0;
  std::vector<BadWord> bad_words;  // the first ones by address, at most 64
  double duration_ms = 0;
  bool injected_fault =
      false;  // a fault was injected on purpose: the result is no statement on the device
};

}  // namespace gpuready
