// What a child of ours found out about the GPUs of the node: the passive part of a hook. It is a
// child, so that a driver that never answers costs a deadline and not the hook.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpuready/finding.h"
#include "report/report.h"

namespace gpuready::slurm {

struct LookedGpu {
  int index = 0;
  std::optional<int> minor_number = {};
  std::optional<std::string> uuid = {};
  std::optional<PciAddress> pci = {};
  bool integrated = false, mig = false;
  bool usable = false, given = false;
  std::string reason = {};               // why it is not usable
  std::vector<std::uint32_t> pids = {};  // of processes that compute on it
};
struct LookedFinding {  // an error that the policy does not accept
  std::string id = {}, concerns = {}, title = {};
  Action action = Action::none;
  std::vector<int> gpus = {};  // indices; empty: the whole machine, or another device
};
struct Look {
  Exit exit = Exit::ok;
  std::string conclusion = {};
  std::vector<LookedFinding> findings = {};
  std::vector<LookedGpu> gpus = {};
};

// Of a concluded report.
Look look_of(const Report& report);

Result<Look> parse_look(std::string_view text);
std::string look_text(const Look& look);

}  // namespace gpuready::slurm
