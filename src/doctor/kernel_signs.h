// What the kernel drivers of AMD and Intel log when a GPU hangs, is reset, or is given up: the last
// of these lines tells how the GPU stands now.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "doctor/cause.h"
#include "doctor/facts.h"

namespace gpuready::doctor {

// Its driver waits for the host's driver of a virtual function.
bool waits_for_host(std::string_view line);

enum class Step {
  late,       // of a line only: an answer did not come in time
  hung,       // a hang was seen, or a reset began: how it ended comes later
  recovered,  // the GPU, or the ring, works again
  failed,     // the reset failed
  asleep,     // it was suspended, and did not wake
  lost,       // the GPU no longer answers on the bus
  wedged,     // the driver has given the GPU up
  started,    // the driver started the GPU again
};

struct GpuStory {
  Vendor vendor = Vendor::other;
  std::optional<PciAddress> pci;  // nothing: no line names the GPU, and there are several
  Step last = Step::recovered;
  std::size_t hangs = 0;                 // that began, as far as the log goes back
  std::vector<std::string> quotes = {};  // of the last trouble: how it began, and how it ended
  std::optional<double> seen = {};       // when the last line was logged
  std::size_t late = 0;                  // answers in a row, and when
  std::optional<double> late_since = {}, late_until = {};
};

// One for each GPU that such lines are about.
std::vector<GpuStory> gpu_stories(const Machine& machine);

// The lines of `bad`, by what `about` says that they are about, since the last line of `good` about
// the same, which takes them back. Lines about nothing do not count.
template <class About>
auto standing_hits(const Machine& machine, const Ids& bad, const Ids& good, const About& about) {
  using Key = typename std::invoke_result_t<About, const LogHit&>::value_type;
  std::map<Key, std::vector<LogHit>> standing;
  for (auto& hit : log_hits(machine, both(bad, good))) {
    const std::optional<Key> key = about(hit);
    if (!key) continue;
    if (says_any(hit.text, good))
      standing.erase(*key);
    else
      standing[*key].push_back(std::move(hit));
  }
  return standing;
}
inline std::optional<PciAddress> device_of(const LogHit& hit) { return hit.pci; }

// What Intel's driver logs where it did not find the file of a part's firmware, and did not load it
// later, or did not get it in time: "GuC", "HuC", "DMC". Newer GPUs do not start without the GuC's.
std::map<std::string_view, std::vector<LogHit>> missing_parts(const Machine& machine,
                                                              const PciAddress& gpu);

}  // namespace gpuready::doctor
