// What `pack install` did, and what `pack list` and its like found, as documents and as text.
#pragma once

#include <string>
#include <vector>

#include "pack/store/install_best.h"
#include "report/envelope.h"
#include "report/report.h"

namespace gpuready {

using InstallReport = pack::BestInstall;
// Sets the envelope's exit code and conclusion.
void conclude(const InstallReport& report, Envelope& envelope);
Json to_json(const InstallReport& report, const Envelope& envelope);  // schema/pack-install
std::string render_terminal(const InstallReport& report, const Envelope& envelope,
                            const TerminalStyle& style);

// One package that is installed here.
struct PackageState {
  std::string store;
  std::optional<std::uint64_t> current;
  std::vector<pack::Installed> installed;
  std::vector<std::string> problems;  // what is damaged, or was added
};
Json to_json(const std::vector<PackageState>& packages,
             const Envelope& envelope);  // schema/pack-list
std::string render_terminal(const std::vector<PackageState>& packages, const Envelope& envelope,
                            const TerminalStyle& style);

}  // namespace gpuready
