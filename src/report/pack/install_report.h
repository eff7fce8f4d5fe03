// What `pack install` did, and what `pack list` and its like found, as documents and as text.
#pragma once

#include <string>
#include <vector>

#include "pack/store/install.h"
#include "report/envelope.h"
#include "report/report.h"

namespace gpuready {

struct InstallReport {
  std::string name, version, from;
  pack::InstallOutcome outcome;
  std::optional<std::string> model;  // that the machine's memory holds
  std::vector<std::string> notes;    // why this variant
};
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
  std::vector<std::string> problems;  // of `verify`: damaged files
};
Json to_json(const std::vector<PackageState>& packages,
             const Envelope& envelope);  // schema/pack-list
std::string render_terminal(const std::vector<PackageState>& packages, const Envelope& envelope,
                            const TerminalStyle& style);

}  // namespace gpuready
