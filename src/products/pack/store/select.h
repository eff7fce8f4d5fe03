// Which variant a machine gets: a decision over all its GPUs, its driver and its system, with a
// reason for each variant that was not chosen. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "gpuready/machine.h"
#include "pack/release/manifest.h"
#include "pack/rules/can_load.h"

namespace gpuready::pack {

struct SelectGpu {
  TargetGpu target;
  std::string name, uuid;
  std::optional<std::uint64_t> free_bytes;  // of its memory; else all of it

  std::string text() const;  // "NVIDIA H200 (9.0)"
};
struct SelectMachine {
  std::vector<SelectGpu> gpus;
  std::size_t unknown_gpus = 0;  // that are here, and of which no driver tells what they load
  Driver driver;
  std::optional<Version> glibc;
  std::optional<std::string> cpu;   // "x86-64-v3"
  std::optional<std::string> mark;  // machine_mark(), of this very machine
};

// The GPUs of a machine that programs of this environment can use.
SelectMachine select_machine(const Machine& machine);
// What of a machine's files tells that a GPU or the driver changed: "driver 580.95.05, GPUs
// 10de:2330 10de:2330".
std::string machine_mark(const Machine& machine);
// glibc and the processor of this very machine.
void add_system(SelectMachine& machine);

struct ConsideredVariant {
  std::string name;
  bool chosen = false;
  std::vector<std::size_t> serves, by_jit;  // indices of GPUs; by_jit: most modules are compiled
  int nearness = 0;  // of what is loaded: the sum over the GPUs of its mean compute capability
  std::vector<std::string> problems;  // why it does not serve the others, or no one
  std::string why_not;                // although it would serve, it is not chosen
};
struct Selection {
  // One that serves every GPU, else the best set, the most useful first. Empty: nothing fits.
  std::vector<std::string> variants;
  bool for_cpu = false;  // the CPU's variant, because no GPU is served
  std::vector<std::size_t> unserved;
  std::optional<std::string> model;      // the first of:
  std::vector<Model> models;             // that the free memory holds, in the manifest's order
  std::optional<std::size_t> model_gpu;  // whose memory that is
  std::optional<std::string>
      model_note;  // why none that needs memory is chosen, where it is unknown
  std::string reason;
  std::vector<ConsideredVariant> considered;  // in the manifest's order
};
// Those for this much free device memory.
std::vector<Model> models_within(const Manifest& manifest, std::uint64_t free_bytes);
Selection select_variant(const Manifest& manifest, const SelectMachine& machine);

// What the rules decided for a machine, or what is taken instead.
struct Decision {
  SelectMachine machine;
  Selection selection;

  // A variant, a set of them, or nothing, whatever the rules chose.
  void take_instead(const std::optional<Variant>& variant, const std::string& because);
};
Decision decide(const Manifest& manifest, SelectMachine machine);

}  // namespace gpuready::pack
