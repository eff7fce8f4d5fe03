// Many nodes' reports as one answer: the state of each node, causes that nodes share, and the odd
// one out among siblings. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/named.h"
#include "fleet/node_report.h"

namespace gpuready::fleet {

// In the order of urgency.
enum class NodeState {
  ready,       // check or test found every GPU ready
  not_tested,  // nothing is wrong that can be seen without a test
  no_gpu,
  unknown,  // no report, none that counts, or one without an answer
  absent,   // what was required there is absent
  bad,
};

struct Node {
  std::string name;
  NodeState state = NodeState::unknown;
  Action action = Action::none;
  std::string reason;  // one sentence; empty: ready
  std::string model;
  std::size_t gpus = 0;
  std::optional<std::int64_t> reported_unix_seconds;
  std::string machine_id;
};

// One cause on all nodes that have it in this severity.
struct Cause {
  std::string id, title, cure;
  Severity severity = Severity::error;
  Action action = Action::none;
  std::vector<std::string> nodes;
  std::size_t gpus = 0;
};

// Nodes that differ from most of their siblings: machines of one product with one model of GPU.
struct Difference {
  std::string siblings;  // "DGX H100, NVIDIA H100 80GB HBM3"
  std::string fact, value, usual;
  std::vector<std::string> nodes;
  std::size_t usual_nodes = 0, compared_nodes = 0;
};

// A GPU, or a node, below what the fleet shows to be normal.
struct Slow {
  std::string siblings, node;
  int gpu = -1;
  std::string what, unit;
  double value = 0, median = 0, limit = 0;
  std::size_t compared = 0;  // GPUs, or nodes
};

// What a node reports otherwise than before.
struct Change {
  std::string node;
  int gpu = -1;
  std::string what, before, after;
};
// A node that was bad and no longer looks so.
struct Repair {
  std::string node;
  std::int64_t bad_since_unix_seconds = 0;
  std::string reason;   // why it was bad
  bool proven = false;  // a check or test has passed since
  std::optional<std::int64_t> tested_unix_seconds;
};

struct Fleet {
  std::vector<Node> nodes;  // the most urgent first
  std::vector<Cause> causes;
  std::vector<Difference> differences;
  std::vector<Slow> slow;
  std::vector<Change> changes;  // of the history, as are repairs
  std::vector<Repair> repairs;
  std::vector<std::string> notes;
  std::size_t unread = 0;  // reports, and what held none: of their nodes nothing is known

  std::size_t count(NodeState state) const;
};

struct MergeOptions {
  std::vector<std::string> expected;  // nodes that must report
  std::int64_t now_unix_seconds = 0;
  std::int64_t valid_seconds = 25 * 3600;  // how long a report counts
  std::vector<std::string> faults = {};    // of what could not be read, for the notes
};
// `history`: is asked and taken further; null: none is kept.
class History;
Fleet merge(const std::vector<NodeReport>& reports, const MergeOptions& options,
            History* history = nullptr);

// Below it a value is slow: six standard deviations less than usual, and at least 3% less.
double slow_below(double usual, double standard_deviation);

// For a node that was bad: unknown until a test has passed.
void set_unproven(Node& node, std::int64_t bad_since, const std::string& reason);

// Differences and slow ones among siblings. A report that does not count shows nothing.
void compare_siblings(const std::vector<const NodeReport*>& reports, Fleet& out);

}  // namespace gpuready::fleet

namespace gpuready {
NAMES_OF(fleet::NodeState, "ready", "not_tested", "no_gpu", "unknown", "absent", "bad");
}  // namespace gpuready
