// What of Slurm's configuration does not fit the GPUs of this node. Rows of the one engine of
// causes (doctor/cause.h); pure.
#pragma once

#include <map>
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
  std::optional<Conf> gres = {}, cgroup = {};   // absent: the file is missing
  std::string no_gres = "the file is missing";  // why `gres` is absent
  std::string folder = {};                      // of slurm.conf
  // Device files and hooks that are named and cannot be used, and why not.
  std::map<std::string, std::string> missing = {};
  std::optional<bool> nvml_plugin = {};  // of Slurm; absent: not known
};

struct ConfCause : doctor::Cause {
  std::vector<doctor::Match> (*look)(const ConfView& view) = nullptr;
};
std::span<const ConfCause> conf_causes();

// Errors first. Nothing where the node has no GPU that Slurm could give to jobs.
std::vector<Finding> check_conf(const ConfView& view);

// What the configuration names, to be looked for.
std::vector<std::string> device_files(const ConfView& view);
struct HookLine {
  std::string_view setting;  // "Prolog"
  const ConfLine* line = nullptr;
  std::string path;  // one that is relative is beside slurm.conf; a pattern of glob(7)
};
// In the order of the file. Slurm 24.05 and newer start each Prolog and Epilog, older ones the
// last.
std::vector<HookLine> hook_lines(const ConfView& view);

}  // namespace gpuready::slurm
