// Why a device node was refused to this user.
#pragma once

#include "doctor/facts.h"

namespace gpuready::doctor {

// Where the node's mode is not the reason: sets title, explanation and cure of the match, and adds
// the proof.
void explain_refusal(const Machine& machine, const DeviceNode& node, Match& match);

}  // namespace gpuready::doctor
