// All known facts of a GPU and of a machine as labelled, grouped text: what `detect` shows.
// A fact that no source reported is not in the list.
#pragma once

#include <string>
#include <vector>

#include "gpuready/machine.h"

namespace gpuready {

struct Fact {
  std::string label, value;
};
struct FactGroup {
  std::string title;
  std::vector<Fact> facts;
};

std::vector<FactGroup> gpu_facts(const Gpu& gpu);              // gpu_facts.cc
std::vector<FactGroup> machine_facts(const Machine& machine);  // machine_facts.cc

// Names of the bits of NVML's clock event reasons: "software power cap, HW slowdown"; "nothing" for
// 0.
std::string clock_event_text(std::uint64_t reasons);

}  // namespace gpuready
