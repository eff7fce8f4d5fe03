// Carries plans out, step by step, each noted before it is begun; on a failure everything is taken
// back.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/storage.h"
#include "vm/attribute_child.h"
#include "vm/clean/clean.h"
#include "vm/journal.h"
#include "vm/plan.h"

namespace gpuready::vm {

// What operations work with.
struct Hands {
  Host& host;
  Storage& storage;
  AttributeChild& attributes;
  std::string folder = kJournalFolder;
  std::chrono::milliseconds driver_deadline{60'000};  // to bind, unbind, reset
  std::chrono::milliseconds clean_deadline{3'600'000};
  // A bundle: guests made from it test GPUs before a driver of this host has them. Empty: the one
  // at `folder`/kCleanBundle, if there is one; else this host's driver tests them.
  std::string clean_with = {};
  GuestTester test_in_guest = vm::test_in_guest;
  bool only_plan = false;  // of detach(): nothing is changed
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(std::string_view)> progress = {};  // what is being done
  std::function<void(const Plan&)> show_plan = {};      // before the first step
};

struct Outcome {
  std::vector<std::string> done;    // steps that were carried out
  std::optional<Error> error;       // of the step that failed
  std::string failed;               // what it was
  std::vector<std::string> notes;   // what failed and matters little
  std::vector<std::string> undone;  // taken back after it
  std::vector<std::string> left;    // could not be taken back, and why: `vm recover` goes on
  std::map<PciAddress, std::string> unclean;  // in quarantine, and why
  std::map<PciAddress, std::string> vbios;
  std::set<PciAddress> returned;  // by a detach
  bool whole() const { return left.empty(); }
};

enum class OnFailure {
  undo,  // back to what was before
  stop,  // what was done is wanted: the rest is tried again later
};

// `vbios`: what was noted when the devices were attached. A detach goes on with the other devices
// if one fails; those in `accepted` may fail.
Outcome perform(const Plan& plan, JournalWriter& journal, Hands& hands, OnFailure on_failure,
                const std::map<PciAddress, std::string>& vbios = {},
                const std::vector<PciAddress>& accepted = {});

// The steps that take back what `operation` may have done.
std::vector<PlanStep> steps_back(const Operation& operation);

}  // namespace gpuready::vm
