// What of Slurm's configuration does not fit the GPUs of this node. Rows of the one engine of
// causes (doctor/cause.h); pure.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "doctor/cause.h"
#include "slurm/conf.h"

namespace gpuready::slurm {

struct ConfView {
  const Machine& machine;
  std::string node;  // as slurm.conf names it
  Conf slurm = {};
  std::optional<Conf> gres = {}, cgroup = {};  // absent: the file is missing
  std::set<std::string> missing = {};    // programs and device files that are named and not there
  std::optional<bool> nvml_plugin = {};  // of Slurm; absent: not known
};

struct ConfCause : doctor::Cause {
  std::vector<doctor::Match> (*look)(const ConfView& view) = nullptr;
};
std::span<const ConfCause> conf_causes();

// Errors first. Nothing where the node has no GPU that Slurm could give to jobs.
std::vector<Finding> check_conf(const ConfView& view);

// Device files and programs that the configuration names, to be looked for.
std::vector<std::string> named_files(const ConfView& view);

}  // namespace gpuready::slurm
