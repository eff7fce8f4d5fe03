// What a fleet was like before: nodes that reported, their facts and rates, and what was wrong. So
// a node that no longer reports is missed, drift shows, and a repair counts when a test has passed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fleet/fleet.h"

namespace gpuready::fleet {

// What a rate usually is: about the last 16 values.
struct UsualRate {
  std::uint64_t count = 0;      // of the values, at most 16
  double mean = 0, spread = 0;  // of these; the spread is their mean deviation
};

struct KnownNode {
  std::string node;
  std::int64_t reported_unix_seconds = 0, bad_since_unix_seconds = 0, ready_unix_seconds = 0;
  std::string gpus, bad_reason;  // UUIDs; why it was bad
  // By name, and by the GPU's index; -1: of the node.
  std::map<std::string, std::map<int, std::string>> facts;
  std::map<std::string, std::map<int, UsualRate>> rates;
};

// Of a fleet: a file with a line about itself and a line for each node, in JSON. The text of each
// node is kept, and read when it is asked for: of 10,000 nodes all at once would take gigabytes.
class History {
 public:
  // `text`: of the file; empty for a new one. `name` is what errors call it.
  static Result<History> read(std::string_view text, const std::string& name);
  std::string text() const;

  std::vector<std::string> nodes() const;  // that reported before
  KnownNode of(const std::string& node) const;
  void keep(const KnownNode& node);
  // A node that left the fleet is expected no more. False: it is not known.
  bool forget(const std::string& node) { return lines_.erase(node) > 0; }

 private:
  std::map<std::string, std::string> lines_;  // by node; each was read once without an error
};

// Adds what changed since the latest report of each node to `out`, and takes the reports in.
// `reports`: those that count, one a node; `out` has their nodes. Of a report that is not newer
// than what is known of its node, only an error that no test has cleared counts. `failed`: earlier
// ones.
struct EarlierFailure {
  const NodeReport* report;
  std::string reason;
};
void compare_with_history(History& history, const std::vector<const NodeReport*>& reports,
                          const std::vector<EarlierFailure>& failed, Fleet& out);

}  // namespace gpuready::fleet
