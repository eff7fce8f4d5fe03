// What a fleet was like before: nodes that reported, their facts and rates, and what was wrong. So
// a node that no longer reports is missed, drift shows, and a repair counts when a test has passed.
#pragma once

#include "fleet/fleet.h"
#include "host/database.h"
#include "host/host.h"
#include "host/storage.h"

namespace gpuready::fleet {

extern const Database::Form kHistoryForm;

// Nodes that reported before.
Result<std::vector<std::string>> known_nodes(const Database& history);

// Adds what changed since the latest report of each node to `out`, and takes the reports in.
// `reports`: those that count, one a node; `out` has their nodes. Of a report that is not newer
// than what is known of its node, only an error that no test has cleared counts. `failed`: earlier
// ones.
struct EarlierFailure {
  const NodeReport* report;
  std::string reason;
};
Result<void> compare_with_history(const Database& history,
                                  const std::vector<const NodeReport*>& reports,
                                  const std::vector<EarlierFailure>& failed, Fleet& out);

// A node that left the fleet is expected no more. False: it is not known.
Result<bool> forget(const Database& history, const std::string& node);

}  // namespace gpuready::fleet
