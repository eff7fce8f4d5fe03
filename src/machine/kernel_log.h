// The kernel log, cut to what is about GPUs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gpuready/machine.h"
#include "machine/first_and_last.h"

namespace gpuready {

inline constexpr KeepOfEach kKernelLogKeep{};
inline constexpr std::size_t kKernelLogMostLines =
    (kKernelLogKeep.kinds + 1) * (kKernelLogKeep.first + kKernelLogKeep.last);

// Reads a log line by line, in memory that does not grow with the log: of lines that differ in
// numbers alone it keeps the first and the last few, and counts those between.
class KernelLogReader {
 public:
  KernelLogReader();
  // "<seconds> text", as Host::kernel_log() gives it, oldest first.
  void line(std::string_view line);
  KernelLog take();

 private:
  FirstAndLast<LogLine> lines_;
  FirstAndLast<XidEvent> xids_;
};

KernelLog parse_kernel_log(std::string_view text);
// What lines of one kind have in common: the text with numbers left out, but PCI addresses and the
// codes of Xids and SXids kept.
std::string kind_of_line(std::string_view text);
bool is_about_gpus(std::string_view line);
// "NVRM: Xid (PCI:0000:17:00): 79, pid=..., GPU has fallen off the bus." and its older and newer
// forms "Xid (0000:17:00): ..." and "Xid (PCI:0000:17:00.0): ...".
std::optional<XidEvent> parse_xid(std::string_view line);

}  // namespace gpuready
