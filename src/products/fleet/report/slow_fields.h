// The fields of what `fleet slow` found.
#pragma once

#include "fleet/slow/findings.h"
#include "value/document.h"
#include "value/fields.h"

namespace gpuready {
NAMES_OF(fleet::FleetPart, "node", "group", "link");
NAMES_OF(fleet::SearchEnd, "settled", "most_rounds", "no_answers", "interrupted", "planned",
         "too_varied", "ended_before");
}  // namespace gpuready

namespace gpuready::fleet {

FIELDS_OF(SlowPart) {
  visit.about("fleet_slow_part", "A part of the fleet that is slow, or may be.");
  FIELD(kind,
        "node; group: what the nodes of a group share, such as a leaf switch's uplinks; "
        "link: between two nodes or groups that are fine.");
  FIELD(name, "The node or group; of a link one end.", kAlways);
  FIELD(other, "Of a link the other end.");
  FIELD(share,
        "Its rate as a share of the usual rate: median of its pairs with parts that are "
        "not slow.",
        {.thousandths = true});
  FIELD(confidence, "Probability that it is slow.", {.least = 0, .most = 1});
  FIELD(measurements, "That it was in.");
}

FIELDS_OF(FailedPart) {
  visit.about("fleet_failing_part",
              "A part of the fleet that gives no answer or wrong values, while others answer.");
  FIELD(kind, "node: it fails with several others; link: between two nodes that answer others.");
  FIELD(name, "The node; of a link one end.", kAlways);
  FIELD(other, "Of a link the other end.");
  FIELD(partners, "Of a node: the nodes with which it fails.");
  FIELD(failed, "Measurements without an answer or with wrong values.");
  FIELD(wrong, "Measurements in which nccl-tests found wrong values.");
  FIELD(measurements, "That it was in.");
}

FIELDS_OF(NamedPair) {
  visit.about("fleet_pair", "Two nodes to measure with each other.");
  FIELD(a, "One node.", kAlways);
  FIELD(b, "The other.", kAlways);
}

FIELDS_OF(PairFailure) {
  visit.about("fleet_pair_failure", "A pair that gave no answer, or wrong values.");
  FIELD(round, "In which round.");
  FIELD(a, "One node.", kAlways);
  FIELD(b, "The other.", kAlways);
  FIELD(reason, "What its command said, or how it ended.", {.always = true, .printable = true});
}

FIELDS_OF(SlowFindings) {
  visit.about("fleet_slow", "Slow nodes, groups of nodes and links of a fleet.");
  FIELD(nodes, "In the fleet.");
  FIELD(groups, "Of at least four nodes in the topology.");
  FIELD(slow, "Parts that are slow, the slowest first.", kAlways);
  FIELD(suspects, "Parts that may be slow: the measurements do not decide.", kAlways);
  FIELD(unknown, "Nodes that never answered.", kAlways);
  FIELD(left, "Nodes that answered and then no more.", kAlways);
  FIELD(failing, "Parts that give no answer or wrong values, while others answer.", kAlways);
  FIELD(rounds, "That were measured.");
  FIELD(measured_pairs, "Over all rounds.");
  FIELD(failed_pairs, "Pairs without an answer or with wrong values, over all rounds.");
  FIELD(ended,
        "settled: nothing is left to measure; most_rounds: the limit of rounds ended the search; "
        "no_answers: several rounds had none; interrupted: there is more to measure; planned: "
        "next_round is to be measured; too_varied: the measurements vary too much to decide; "
        "ended_before: nothing was measured, because the search of --results had ended.");
  FIELD(usual_rate, "Of pairs within a group, in the unit of the program that measured.",
        {.unit = "the program's unit"});
  FIELD(noise, "Standard deviation of one measurement, as a share of the usual rate.");
  FIELD(limit_share, "A part is slow whose share of the usual rate is below this.");
  FIELD(across_share,
        "Rate of pairs across groups as a share of the usual rate, when all groups "
        "measure at the same time.");
  FIELD(failures, "Of this run, with reasons.");
  FIELD(next_round, "Pairs to measure at the same time; of --plan.");
  visit.hidden(&T::notes);
}

}  // namespace gpuready::fleet

namespace gpuready {
DOCUMENT_OF(
    fleet::SlowFindings, "fleet-slow", "Slow nodes",
    "Which nodes, groups of nodes and links of a fleet are slow, by rounds of pairs.",
    "0: none is slow, and each node and pair answered; 1: one is, or nccl-tests found wrong "
    "values twice; 2: wrong usage or bad input; 4: a node or pair did not answer, wrong "
    "values were found once, the measurements do not decide, or nothing was measured; 130: "
    "interrupted.",
    "fleet", "What was found.");
}  // namespace gpuready
