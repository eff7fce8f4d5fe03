#include "cli/pack_machine.h"

#include "machine/inspect.h"

namespace gpuready::cli {

void add_machine_options(CommandSpec& command, MachineOptions& options) {
  command.add({
      {.name = "--for",
       .value = &options.gpus,
       .help = "Decide for these GPUs instead of this machine's: 8.6,9.0 or gfx942; none: no GPU",
       .type = "LIST"},
      {.name = "--driver",
       .value = &options.driver,
       .help = "Decide for this driver: 550 or 535.104.05",
       .type = "VERSION",
       .needs = "--for"},
      {.name = "--free-mb",
       .value = &options.free_mb,
       .help = "Assume this much free memory on each GPU, for the choice of the model",
       .type = "MB",
       .needs = "--for"},
      {.name = "--replay",
       .value = &options.replay,
       .help = "Decide for a recorded machine or a machine script",
       .type = "FILE",
       .excludes = "--for",
       .files = Files::read},
  });
}

Result<pack::SelectMachine> machine_for(const MachineOptions& options) {
  pack::SelectMachine machine;
  if (options.gpus) {
    const auto gpus =
        *options.gpus == "none" ? std::vector<pack::SelectGpu>() : pack::parse_gpus(*options.gpus);
    if (!gpus)
      return fail(
          ErrorKind::bad_input,
          "--for " + *options.gpus + ": not a list of GPUs such as 8.6,9.0 or gfx942, or none");
    machine.gpus = *gpus;
    for (auto& gpu : machine.gpus)
      if (options.free_mb) gpu.free_bytes = *options.free_mb << 20;
    if (!options.driver) return machine;
    machine.driver.version = parse_version(*options.driver);
    if (!machine.driver.version)
      return fail(ErrorKind::bad_input,
                  "--driver " + *options.driver + ": not a version such as 550.54.14");
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
