// Actions of findings: the strongest of several, and what can be done of them from here.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "gpuready/finding.h"

namespace gpuready {

// What a machine as a whole needs, or one of its GPUs: a finding about the whole machine counts for
// the machine only. What a finding explains needs nothing more than its root's cure.
Action strongest_action(std::span<const Finding> findings);
Action strongest_action(std::span<const Finding> findings, const Gpu& gpu);

// From where the machine is seen, and the strongest action that can be done from there.
struct Vantage {
  std::string_view name;
  Action reach;
};
std::span<const Vantage> vantages();
const Vantage& vantage_of(const Machine& machine);

// What cures of an action cost, need and where they are done, where nothing else is known of one.
CureTerms usual_terms(Action action);
// The cloud whose virtual machine or rented host this is: "Amazon EC2", "Google Cloud", "Azure";
// else empty.
std::string_view cloud_of(const Machine& machine);
// Where what cannot be done from here is done: the host, Windows, or the cloud's provider.
CurePlace outside(const Machine& machine);
// In words, for a report: "ends processes; on the host; needs root, and that nothing uses the GPU".
std::string words_of(const CureTerms& terms);

// Decides what of a finding's action, and of those that it explains, can be done from here. One
// that cannot becomes ask_host, and the cure says which. Nothing needs to be done about an info.
void settle_action(Finding& finding, const Machine& machine);

// The nearest words of others for an action.
struct ActionWords {
  Action action;
  std::string_view nvsentinel, aws, azure, hyperpod;
};
std::span<const ActionWords> action_words();

}  // namespace gpuready
