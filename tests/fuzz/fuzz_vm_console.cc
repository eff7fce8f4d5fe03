// A guest's console: whatever a hostile guest writes there.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "vm/diagnose/bar_lines.h"
#include "vm/diagnose/console.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpuready;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto report = vm::read_console(std::string(text));
  for (const auto& finding : report.findings)
    if (finding.evidence.empty() || finding.id.empty()) std::abort();
  if ((report.state == vm::ConsoleState::failed) && report.findings.empty()) std::abort();
  static_cast<void>(vm::parse_bar_line(text));
  return 0;
}
