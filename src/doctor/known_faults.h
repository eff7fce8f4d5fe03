// Faults of drivers, kernels and toolkits that were published with versions: what each is known to
// do, on which GPUs, and where that was read. A row proves nothing about this machine: it says what
// machines with these versions are known to do, beside a symptom that fits, or, where the row is
// severe, without one (causes/causes_known.cc).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/named.h"
#include "gpuready/machine.h"
#include "gpuready/result.h"

namespace gpuready {

enum class Sureness : std::uint8_t {
  published,   // the source names the versions that fail
  fixed_only,  // it names only the version that fixes it: from the branch's first one on, as
               // assumed
  reported,    // users name versions that fail; those between them are assumed to fail as well
};
NAMES_OF(Sureness, "published", "fixed_only", "reported");
std::string_view words_for(Sureness sureness);  // after "Published "

struct KnownFault {
  std::string id;
  Vendor vendor = Vendor::nvidia;
  // Words of a GPU's name, architecture, target or chip, or "10de:2d58"; separated by commas. Empty
  // for any GPU of the vendor.
  std::string gpus;
  // Ranges (is_in()); empty for any. An unknown version is in no range.
  std::string drivers, kernels, toolkits;  // a toolkit is CUDA or ROCm
  std::string flavour;                     // of NVIDIA's kernel modules: "open", "proprietary"
  bool hmm = false;                        // only while nvidia-uvm's HMM is on
  std::string symptoms;                    // ids of findings, separated by blanks; "xid-*" for any
  std::string says;                        // what a symptom's evidence has to contain
  std::string text;                        // after "is known "
  std::string fixed;                       // "driver 550.78"; empty: no such version is published
  Sureness sureness = Sureness::published;
  bool severe = false;  // told without a symptom, too
  std::string source;
};

// Of a document as known_faults.json; an error names the row and what is wrong.
Result<std::vector<KnownFault>> parse_known_faults(std::string_view text);
// Whether a row names versions, as ranges. Tests ask; at each start it would take a tenth of a
// replay.
Result<void> check_versions(const KnownFault& fault);
std::span<const KnownFault> known_faults();  // of known_faults.json

// Whether a version ("580.65.06", "6.8.0-38-generic") is in one of the ranges, which blanks
// separate: "570.133.20" or a branch, "6.8"; "570..570.158.01"; "535..<535.216.03"; "6.15..". A
// bound of fewer numbers means every version that begins with them. "6.1.0-40" of a distribution
// has an unknown patch level: it fits bounds like "6.1.0-18" and "6.1", and not "6.1.76".
bool is_in(std::string_view version, std::string_view ranges);
bool are_ranges(std::string_view text);

// Of the module that runs; of one that was not built or loaded, of its libraries. Empty: not known.
std::string known_driver(const Machine& machine, Vendor vendor);
std::vector<std::string> known_toolkits(const Machine& machine, Vendor vendor);
// The GPUs (indices) that a row is about, by its versions and GPUs only.
std::vector<int> concerned(const Machine& machine, const KnownFault& fault);
// The row that says that this kernel is older than the support of these GPUs.
const KnownFault* kernel_too_old(const Machine& machine, const std::vector<int>& gpus);

}  // namespace gpuready
