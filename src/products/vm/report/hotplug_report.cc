#include "vm/report/hotplug_report.h"

#include <fmt/format.h>

#include "base/text.h"

namespace gpuready {

std::string render_terminal(const HotPlugReport& report, const TerminalStyle&) {
  std::string text;
  for (const auto& device : report.devices)
    text += fmt::format("{}: {}\n", printable(device.device), words_of(device.state));
  return text;
}

}  // namespace gpuready
