// The kernel log, cut to what is about GPUs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "gpuready/machine.h"

namespace gpuready {

inline constexpr std::size_t kKernelLogMaxLines = 2000;
inline constexpr std::size_t kKernelLogMaxXids = 1000;

// `text` as Host::kernel_log() gives it: "<seconds> text" per line, oldest first. In a flood the
// first quarter is kept (how the driver came up) and the newest rest (what happened since).
KernelLog parse_kernel_log(std::string_view text);
bool is_about_gpus(std::string_view line);
// "NVRM: Xid (PCI:0000:17:00): 79, pid=..., GPU has fallen off the bus." and its older and newer
// forms "Xid (0000:17:00): ..." and "Xid (PCI:0000:17:00.0): ...".
std::optional<XidEvent> parse_xid(std::string_view line);

}  // namespace gpuready
