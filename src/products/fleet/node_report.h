// What one node reported, reduced to what a fleet is judged by. Pure. Reports are hostile input:
// texts are made printable and short, and a report that does not fit costs only itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpuready/finding.h"
#include "value/envelope.h"

namespace gpuready::fleet {

inline constexpr std::size_t kMostReportBytes = 8u << 20;
inline constexpr std::size_t kMostText = 300;  // of a text that a report gave

// A cause that the node's doctor named, or a test that failed there.
struct NodeCause {
  std::string id, title, cure;  // "xid-79"; "test-memory" of a test
  Severity severity = Severity::error;
  Action action = Action::none;
  std::size_t gpus = 0;    // concerned; 0: the whole node
  std::string place = {};  // "GPU 3: "; empty: all GPUs of the node
};

// A text or a number that is the same on every healthy sibling.
struct NodeFact {
  std::string_view name;  // of the table in node_facts.cc
  int gpu = -1;           // its index; -1: of the node
  std::string value;
};
struct NodeRate {
  std::string name;  // "memory: write rate"
  std::string unit;  // "B/s"
  int gpu = -1;
  double value = 0;
};

struct NodeReport {
  std::string name;     // of the node
  std::string claimed;  // what the report says its node is called; may differ from `name`
  std::string machine_id, tool_version, conclusion;
  std::int64_t created_unix_seconds = 0, duration_seconds = 0;
  Exit exit = Exit::unknown;
  bool tested = false;  // check or test, and something was tested
  std::string product;  // of the machine: "DGX H100"
  std::string model;    // of most of its GPUs; empty: it has none
  std::size_t gpus = 0;
  std::vector<std::string> gpu_ids;  // UUIDs, sorted
  // The worst of its GPUs that are not ready: "not ready", and why.
  std::string gpu_reason;
  bool bad_gpu = false;  // it failed or is lost, not only in use, asleep or unknown
  Action action = Action::none;
  std::vector<NodeCause> causes;
  std::vector<NodeFact> facts;
  std::vector<NodeRate> rates;
};

// `label` is the name that the transport gave the node, which counts more than what the report
// says; empty: none.
Result<NodeReport> parse_node_report(std::string_view text, const std::string& source,
                                     const std::string& label);

}  // namespace gpuready::fleet
