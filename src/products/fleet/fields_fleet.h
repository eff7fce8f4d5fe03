// visit_fields() of the types of fleet.h.
#pragma once

#include "fleet/fleet.h"
#include "value/action.h"
#include "value/document.h"

namespace gpuready::fleet {

FIELDS_OF(Node) {
  visit.about("fleet_node", "One node.");
  FIELD(name, "Its name.", kAlways);
  FIELD(state,
        "ready: check or test found every GPU ready; not_tested: nothing is wrong that can be seen "
        "without a test; no_gpu; unknown: no report, none that counts, or one without an answer; "
        "absent: what was required there is absent; bad.");
  FIELD(action, "What the node needs; docs/actions.md.");
  FIELD(reason, "Why, in one sentence; absent: ready.");
  FIELD(model, "Of most of its GPUs.");
  FIELD(gpus, "How many it has.");
  FIELD(reported_unix_seconds, "When its latest report was made, by its own clock.");
  FIELD(machine_id, "As in its report.");
}
FIELDS_OF(Cause) {
  visit.about("fleet_cause", "One cause on all nodes that have it in this severity.");
  FIELD(id, "Of the finding, or test- and the test that failed.", kAlways);
  FIELD(title, "What is wrong, on the node where it is worst.", kAlways);
  FIELD(cure, "What to do.");
  FIELD(severity, "As in the report.");
  FIELD(action, "The kind of the cure.");
  FIELD(nodes, "Which have it.", kAlways);
  FIELD(gpus, "How many GPUs it concerns; 0: whole nodes.");
}
FIELDS_OF(Difference) {
  visit.about("fleet_difference", "Nodes that differ from most of their siblings.");
  FIELD(siblings, "Product and model of GPU of those compared.", kAlways);
  FIELD(fact, "What differs, such as VBIOS.", kAlways);
  FIELD(value, "What these nodes have.", kAlways);
  FIELD(usual, "What at least two thirds have.", kAlways);
  FIELD(nodes, "Those that differ.", kAlways);
  FIELD(usual_nodes, "How many nodes have the usual value.");
  FIELD(compared_nodes, "How many nodes report the fact.");
}
FIELDS_OF(Slow) {
  visit.about("fleet_slow", "A GPU or node below what its siblings show to be normal.");
  FIELD(siblings, "Product and model of GPU of those compared.", kAlways);
  FIELD(node, "The node.", kAlways);
  FIELD(gpu, "The GPU's index; -1: the node.");
  FIELD(what, "Test and measurement, such as memory: copy rate.", kAlways);
  FIELD(unit, "Of value, median and limit.", kAlways);
  FIELD(value, "What was measured.", {.unit = "the key unit"});
  FIELD(median, "Of the siblings.", {.unit = "the key unit"});
  FIELD(limit,
        "The median less six standard deviations (1.4826 times the median absolute deviation), and "
        "less at least 3%.",
        {.unit = "the key unit"});
  FIELD(compared, "How many values the limit was learned from.");
}
FIELDS_OF(Change) {
  visit.about("fleet_change", "What a node reports otherwise than before.");
  FIELD(node, "The node.", kAlways);
  FIELD(gpu, "The GPU's index; -1: the node.");
  FIELD(what, "What changed, such as VBIOS.", kAlways);
  FIELD(before, "As in the report before.", kAlways);
  FIELD(after, "As it is now.", kAlways);
}
FIELDS_OF(Repair) {
  visit.about("fleet_repair", "A node that was bad and no longer looks so.");
  FIELD(node, "The node.", kAlways);
  FIELD(bad_since_unix_seconds, "When it was first bad.");
  FIELD(reason, "Why it was.", kAlways);
  FIELD(proven, "A check or test has passed since. Until then the node is unknown.");
  FIELD(tested_unix_seconds, "When that was.");
}
FIELDS_OF(Fleet) {
  visit.about("fleet", "Many nodes' reports as one answer.");
  DERIVED(ready, it.count(NodeState::ready), "How many nodes are ready.");
  DERIVED(not_tested, it.count(NodeState::not_tested), "How many are not tested.");
  DERIVED(no_gpu, it.count(NodeState::no_gpu), "How many have no GPU.");
  DERIVED(unknown, it.count(NodeState::unknown), "Of how many nothing is known now.");
  DERIVED(absent, it.count(NodeState::absent), "How many lack what was required.");
  DERIVED(bad, it.count(NodeState::bad), "How many are bad.");
  FIELD(unread, "Reports that could not be read: of their nodes nothing is known.");
  FIELD(nodes, "The most urgent first.", kAlways);
  FIELD(causes, "The most severe first.", kAlways);
  FIELD(differences, "By siblings and fact.", kAlways);
  FIELD(slow, "By siblings and measurement.", kAlways);
  FIELD(changes, "What nodes report otherwise than before; needs a history.", kAlways);
  FIELD(repairs, "Nodes that were bad and no longer look so; needs a history.", kAlways);
  FIELD(notes, "What could not be read or counted, and why.");
}

}  // namespace gpuready::fleet

namespace gpuready {
DOCUMENT_OF(fleet::Fleet, "fleet", "A fleet",
            "The state of each node of a fleet, causes that nodes share, and the odd one out among "
            "siblings.",
            "0: no node is bad, absent or unknown; 1: a node is bad; 3: a node lacks what was "
            "required; 4: of a node nothing is known, or a report could not be read.",
            "fleet", "The nodes and what they show.");
}  // namespace gpuready
