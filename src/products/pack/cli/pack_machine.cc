#include "pack/cli/pack_machine.h"

#include <fmt/format.h>

#include "base/text.h"
#include "machine/gpu_choice.h"
#include "machine/inspect.h"

namespace gpuready::cli {

void add_machine_options(CommandSpec& command, MachineOptions& options, const char* needs) {
  auto replay =
      replay_option(options.replay, "Decide for a recorded machine or a machine script", "--gpu");
  replay.needs = needs;
  command.add({
      {.name = "--gpu",
       .value = &options.gpus,
       .help = fmt::format("Decide for these GPUs instead of this machine's: {}; none: no GPU",
                           kGpuWords),
       .type = "LIST",
       .needs = needs,
       .commas = true},
      {.name = "--driver",
       .value = &options.driver,
       .help = "Decide for this driver: 550 or 535.104.05",
       .type = "VERSION",
       .needs = "--gpu"},
      std::move(replay),
  });
}

Option free_memory_option(MachineOptions& options) {
  return {.name = "--free-mb",
          .value = &options.free_mb,
          .help = "Assume this much free memory on each GPU, for the choice of the model",
          .type = "MB",
          .needs = "--gpu"};
}

Result<std::vector<pack::TargetGpu>> targets_on(const Machine& here, const char* option,
                                                const std::string& word) {
  std::vector<pack::TargetGpu> targets;
  const auto named = gpus_named(here, option, word);
  for (const Gpu* gpu : named.value_or(std::vector<const Gpu*>())) {
    const auto& name = gpu->compute_capability ? gpu->compute_capability : gpu->gfx_target;
    const auto target = name ? pack::parse_target_gpu(*name) : std::nullopt;
    if (target) targets.push_back(*target);
  }
  if (!targets.empty()) return targets;
  if (const auto capability = TRY(capability_of_model(option, word)))
    return std::vector{*pack::parse_target_gpu(*capability)};
  return std::unexpected(named ? Error{ErrorKind::bad_input,
                                       fmt::format("{} {}: the capability of this GPU is not known",
                                                   option, printable(word)),
                                       0}
                               : named.error());
}

namespace {

Result<std::vector<pack::TargetGpu>> targets_named(const char* option, const std::string& word) {
  if (const auto target = pack::parse_target_gpu(trim(word))) return std::vector{*target};
  const auto host = make_live_host();
  return targets_on(TRY(inspect_as_asked(*host, {}, {})), option, word);
}

}  // namespace

Result<pack::SelectMachine> machine_for(const MachineOptions& options) {
  pack::SelectMachine machine;
  if (!options.gpus.empty()) {
    if (options.gpus != std::vector<std::string>{"none"})
      for (const auto& word : options.gpus)
        for (auto& target : TRY(targets_named("--gpu", word))) {
          auto& gpu = machine.gpus.emplace_back();
          gpu.target = std::move(target);
          if (options.free_mb) gpu.free_bytes = *options.free_mb << 20;
        }
    machine.driver.version = TRY(version_option("--driver", options.driver));
    return machine;
  }
  Globals globals;
  globals.replay = options.replay;
  const auto host = TRY(open_host(globals));
  const auto inspected = TRY(inspect_as_asked(*host, globals, {}));
  machine = pack::select_machine(inspected);
  if (options.replay) return machine;
  pack::add_system(machine);
  machine.mark = pack::machine_mark(inspected);
  return machine;
}

}  // namespace gpuready::cli
