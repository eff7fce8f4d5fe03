// One function a subcommand; each has a file of its own.
#pragma once

#include "cli/options.h"
#include "kubernetes/report/condition.h"
#include "report/kept_results.h"

namespace gpuready::cli {

void declare_kubernetes_condition(CommandSpec& command);
void declare_kubernetes_features(CommandSpec& command);
void declare_kubernetes_copy(CommandSpec& command);
void declare_kubernetes_event(CommandSpec& command);

// What these commands look at: the machine, passively and within a time, and the kept results.
struct NodeOptions {
  Globals globals;
  PolicyOptions policy;
  std::vector<std::string> accept;
  std::optional<std::string> driver_root;
  std::string state = kKeptResultsFile;
  double valid_s = 0;
};
void add_node_options(CommandSpec& command, NodeOptions& options);

// Diagnosed and concluded as by `doctor`.
Result<Report> look_at_node(const NodeOptions& options);
Result<StatusReport> status_of_node(const NodeOptions& options);

Result<kubernetes::JudgedNode> judge_node(const NodeOptions& options);

}  // namespace gpuready::cli
