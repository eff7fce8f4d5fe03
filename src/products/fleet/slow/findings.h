// What a search for slow nodes, groups and links found, by name. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fleet/slow/search.h"

namespace gpuready::fleet {

enum class FleetPart { node, group, link };
enum class SearchEnd {
  settled,
  most_rounds,
  no_answers,
  interrupted,
  planned,
  too_varied,
  ended_before
};

struct SlowPart {
  FleetPart kind = FleetPart::node;
  std::string name;   // of the node or group; of a link one end
  std::string other;  // of a link the other end
  double share = 0;   // its rate as a share of the usual rate
  double confidence = 0;
  unsigned measurements = 0;
};

// A node or link that gives no answer, or wrong values, while others answer.
struct FailedPart {
  FleetPart kind = FleetPart::node;
  std::string name, other;            // as of SlowPart
  std::vector<std::string> partners;  // of a node: with which it fails
  unsigned failed = 0, wrong = 0, measurements = 0;
};

struct NamedPair {
  std::string a, b;
};

struct PairFailure {
  unsigned round = 0;
  std::string a, b;
  std::string reason;
};

struct SlowFindings {
  unsigned nodes = 0, groups = 0;
  std::vector<SlowPart> slow, suspects;
  std::vector<std::string> unknown;  // nodes that never answered
  std::vector<std::string> left;     // that answered, and then no more
  std::vector<FailedPart> failing;
  unsigned rounds = 0, measured_pairs = 0, failed_pairs = 0;
  SearchEnd ended = SearchEnd::settled;
  std::optional<double> usual_rate;  // in the unit of the program that measured
  std::optional<double> noise, limit_share, across_share;
  std::vector<PairFailure> failures;  // of this run, with reasons
  std::vector<NamedPair> next_round;  // of a plan
  std::vector<std::string> notes;     // sentences
};

SlowFindings findings_of(const SlowSearch& search);

// The pairs of the next round, if there is one.
void add_plan(SlowFindings& findings, const SlowSearch& search);

}  // namespace gpuready::fleet
