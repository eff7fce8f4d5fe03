// What the console of a guest reports about its GPU: lines of our own init, of hypeman's, of a
// plain Linux, of NVIDIA's driver, of programs, and of the hypervisor itself where its messages go
// the same way.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/named.h"
#include "gpuready/finding.h"
#include "host/file_end.h"
#include "vm/guest/steps.h"

namespace gpuready::vm {

enum class ConsoleKind { gpuready, hypeman, linux_boot, unknown };

enum class ConsoleState {
  ready,    // it says so, or the driver was loaded and nothing is wrong
  failed,   // something is wrong; the findings name it
  unknown,  // it tells nothing of a GPU
};

// The first step that failed. `kind` is host, boot, device, module, firmware, node, library,
// loader, check or program; `subject` is what it was about: "nvidia", "/dev/nvidia0",
// "libcuda.so.1", a PCI address.
struct FailedStep {
  std::string kind, subject, text;
};

struct ConsoleReport {
  ConsoleKind kind = ConsoleKind::unknown;
  ConsoleState state = ConsoleState::unknown;
  std::size_t boots = 0;                      // kernels that started; the last one is what counts
  std::size_t unread_bytes = 0;               // of the beginning of a log that is too long
  std::optional<std::string> driver_version;  // that was loaded
  std::vector<Step> steps;                    // of the guest's init
  std::optional<FailedStep> failed_step;
  std::vector<Finding> findings;  // causes first; what follows from one is folded under it
};

// Of a longer log the end is read.
inline constexpr std::size_t kMostConsoleBytes = 16u << 20;
ConsoleReport read_console(const FileEnd& console);
inline ConsoleReport read_console(std::string text) {
  return read_console(end_of(std::move(text), kMostConsoleBytes));
}

}  // namespace gpuready::vm

namespace gpuready {
NAMES_OF(vm::ConsoleKind, "gpuready", "hypeman", "linux", "unknown");
NAMES_OF(vm::ConsoleState, "ready", "failed", "unknown");
}  // namespace gpuready
