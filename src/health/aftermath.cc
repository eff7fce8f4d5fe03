#include "health/aftermath.h"

#include <fmt/format.h>

#include <algorithm>

namespace gpuready {
namespace {

// Double-bit ECC error; contained and uncontained ECC error (NVIDIA, "Xid Errors").
constexpr int kMemoryXids[] = {48, 94, 95};

bool same_event(const XidEvent& a, const XidEvent& b) {
  return a.code == b.code && a.line == b.line && a.seconds == b.seconds;
}

}  // namespace

void apply_memory_xids(const Machine& before, const Machine& after,
                       std::vector<Verdict>& verdicts) {
  const auto& old = before.kernel_log.xids;
  for (const auto& event : after.kernel_log.xids) {
    if (std::find(std::begin(kMemoryXids), std::end(kMemoryXids), event.code) ==
        std::end(kMemoryXids))
      continue;
    if (std::any_of(old.begin(), old.end(),
                    [&](const XidEvent& e) { return same_event(e, event); }))
      continue;
    for (auto& verdict : verdicts) {
      if (verdict.test != "memory" || !event.pci || verdict.pci_address != event.pci->text())
        continue;
      verdict.status = VerdictStatus::failed;
      verdict.reason =
          fmt::format("the driver reported Xid {} during the test: {}", event.code, event.line);
    }
  }
}

}  // namespace gpuready
