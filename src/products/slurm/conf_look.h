// Slurm's configuration as it is on this node, with the files that it names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "slurm/check_conf.h"

namespace gpuready::slurm {

struct ConfLook {
  ConfView view;
  std::vector<std::string> files = {};   // that were read
  std::vector<std::string> unseen = {};  // what could not be looked at, and why
};
// The configuration is that of `here`, also where the GPUs and their device files are a
// recording's.
Result<ConfLook> look_at_conf(Host& here, Host& devices, const Machine& machine,
                              const std::string& node, const std::string& slurm_conf);
// What does not fit. Nothing is concluded if something was not read, since that could say anything.
std::vector<Finding> check_conf(const ConfLook& look);

// Whether one of the folders in which Slurm looks for plugins has that of NVML; absent: none of
// them exists.
std::optional<bool> has_nvml_plugin(Host& host, const Conf& slurm_conf);
// Why Slurm cannot start what a hook names: of a pattern, all that match.
std::optional<std::string> why_not_startable(Host& host, const std::string& hook);

}  // namespace gpuready::slurm
