// What `vm drivers upgrade` compared, tested and switched.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/report.h"
#include "value/envelope.h"
#include "vm/drivers/upgrade.h"

namespace gpuready {

struct UpgradeReport {
  std::string folder;
  vm::BundleEntry bundle;           // that was added or chosen
  bool added = false;               // by this command
  std::optional<std::string> from;  // the name of the bundle that was current
  std::optional<vm::BundleDiff> diff;
  std::vector<vm::BundleTest> tests;
  bool switched = false;  // FOLDER/current leads to it now

  bool failed() const;
};
std::string render_terminal(const UpgradeReport& report, const TerminalStyle& style);

}  // namespace gpuready
