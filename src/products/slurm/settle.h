// What a hook does about its node: it asks Slurm, decides (decide.h), and carries that out.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/storage.h"
#include "slurm/decide.h"
#include "slurm/scontrol.h"

namespace gpuready::slurm {

// Whether a hook carries its decision out: that of a recording only as a rehearsal.
bool carries_out(bool dry_run, bool replays, bool rehearses);

struct SettleOptions {
  std::string node, record_path;
  Slurm slurm = {};                                // scontrol empty: it is looked for
  bool done = true;                                // false: the decision is only shown
  std::vector<std::uint32_t> left = {};            // processes that the job left
  std::chrono::milliseconds lock_patience{2'000};  // with another hook of this node
};
struct Settlement {
  std::optional<Node> was = {};  // what Slurm said before; absent: it was not asked
  Decision decision = {};
  std::optional<std::string> slurm_error = {};  // why Slurm did not do it
  std::vector<std::string> complaints = {};     // about the record; the rest is done without it
};
// `situation` lacks the node and the record.
Settlement settle(Host& host, Storage& storage, const SettleOptions& options, Situation situation);

}  // namespace gpuready::slurm
