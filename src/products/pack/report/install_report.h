// What `pack install` did, and what `pack list` and its like found, as documents and as text.
#pragma once

#include <string>
#include <vector>

#include "pack/store/install_best.h"
#include "report/report.h"
#include "value/envelope.h"

namespace gpuready {

using InstallReport = pack::BestInstall;
// Sets the envelope's exit code and conclusion.
void conclude(const InstallReport& report, Envelope& envelope);
std::string render_terminal(const InstallReport& report, const Envelope& envelope,
                            const TerminalStyle& style);

// One package that is installed here.
struct PackageState {
  std::string store;
  std::optional<std::uint64_t> current;
  std::vector<pack::Installed> installed;
  std::vector<std::string> problems;  // what is damaged, or was added
};
std::string render_terminal(const std::vector<PackageState>& packages, const Envelope& envelope,
                            const TerminalStyle& style);

}  // namespace gpuready
