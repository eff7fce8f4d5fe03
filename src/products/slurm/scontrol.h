// Slurm's own program, by which a hook reads and changes its node.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "host/host.h"
#include "slurm/node.h"

namespace gpuready::slurm {

struct Slurm {
  std::string scontrol = {};                  // its path
  std::optional<std::string> conf = {};       // slurm.conf, if not where scontrol looks for it
  std::chrono::milliseconds patience{6'000};  // with each request
};

// Where scontrol is: Slurm starts hooks without PATH. The usual folders, then beside a running
// slurmd. As root only where no other user could have put it.
Result<std::string> find_scontrol(Host& host);

Result<Node> show_node(Host& host, const Slurm& slurm, const std::string& name);
Result<void> drain_node(Host& host, const Slurm& slurm, const std::string& name,
                        const std::string& reason);
Result<void> resume_node(Host& host, const Slurm& slurm, const std::string& name);

}  // namespace gpuready::slurm
