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

// How often the log tells this Xid of this GPU.
auto count_in_log(const Machine& machine, const XidEvent& event) {
  const auto& xids = machine.kernel_log.xids;
  return std::count_if(xids.begin(), xids.end(), [&](const XidEvent& other) {
    return other.code == event.code && other.pci == event.pci;
  });
}

}  // namespace

void add_heard_xids(const ProbeDocument& heard, const Machine& before, Machine& after) {
  for (const auto& [call, answer] : heard.calls) {
    const auto xid = get_uint(answer.value, "xid");
    if (!call.starts_with("nvmlEventSetWait_v2(") || !answer.ok() || !xid || *xid > 100'000)
      continue;
    XidEvent event;
    event.code = static_cast<int>(*xid);
    event.pci = parse_pci_address(get_string(answer.value, "pci").value_or(""));
    event.source = "NVML event";
    event.line = fmt::format("Xid {} on {}", event.code, event.pci ? event.pci->text() : "a GPU");
    if (count_in_log(after, event) > count_in_log(before, event)) continue;
    after.kernel_log.xids.push_back(std::move(event));
  }
}

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
