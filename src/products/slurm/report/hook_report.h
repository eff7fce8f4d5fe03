// What a hook of Slurm found and did, as a document and as a line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/report.h"
#include "slurm/decide.h"

namespace gpuready {

struct SlurmHookReport {
  std::string hook;  // "health", "prolog", "epilog"
  std::string node;
  std::optional<std::string> job = {};
  std::vector<int> gpus = {};               // of the job
  std::optional<std::string> unknown = {};  // why it is not known that nothing is wrong
  std::vector<slurm::Cause> causes = {};
  std::optional<slurm::Node> was = {};  // before the hook; absent: Slurm was not asked
  slurm::Decision decision = {};
  bool rehearsed = false;                       // for causes of a recording
  bool done = true;                             // false: --dry-run
  std::optional<std::string> slurm_error = {};  // why Slurm did not do it
  bool strict = false;                          // what is not known fails the prolog, too
};

std::string conclusion(const SlurmHookReport& report);
std::string render_terminal(const SlurmHookReport& report, const TerminalStyle& style);

}  // namespace gpuready
