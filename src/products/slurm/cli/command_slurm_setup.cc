// `slurm install` and `slurm doctor`: Slurm's configuration.
#include <memory>

#include "base/clock.h"
#include "base/paths.h"
#include "cli/deliver_report.h"
#include "host/storage.h"
#include "jobs/helper.h"
#include "machine/gpu_use.h"
#include "slurm/cli/slurm_commands.h"
#include "slurm/cli/slurm_node.h"
#include "slurm/conf_look.h"
#include "slurm/report/exit_rules.h"

namespace gpuready::cli {
namespace {

struct InstallOptions {
  Globals globals;
  SlurmNodeOptions slurm;
  std::optional<std::string> folder;
  double interval_s = 300;
  bool write = false;
};

Result<int> run_install(const InstallOptions& options) {
  const auto start = Clock::now();
  const auto host = make_live_host();
  SlurmInstallReport report{.conf = TRY(slurm::find_conf(*host, options.slurm.conf))};
  const auto conf_text = TRY(host->read_file(report.conf));
  std::vector<std::string> unread;
  const auto conf = TRY(slurm::read_conf(*host, report.conf, unread));
  slurm::SetupChoice choice{.gpuready = TRY(host->real_path(helper_job({}).program)),
                            .folder = options.folder.value_or(folder_of(report.conf) + "/gpuready"),
                            .scontrol = options.slurm.scontrol,
                            .conf = options.slurm.conf ? std::optional(report.conf) : std::nullopt,
                            .interval_s = static_cast<int>(options.interval_s)};
  TRY(slurm::check_hook_folder(choice.folder));
  auto setup = slurm::plan_setup(conf, choice);
  if (options.write) {
    TRY(slurm::write_setup(live_storage(), choice.folder, setup, report.conf, conf_text));
    report.written = true;
  }
  report.files = std::move(setup.scripts);
  report.lines = std::move(setup.lines);
  report.taken = std::move(setup.taken);
  report.hints = std::move(setup.notes);
  for (const auto& file : unread) report.hints.push_back("not read: " + file);
  Envelope envelope = begin_envelope("slurm install");
  envelope.exit = exit_of(report);
  envelope.conclusion = conclusion(report);
  return deliver_report(envelope, report, start, options.globals);
}

struct DoctorOptions {
  Globals globals;
  SlurmNodeOptions slurm;
};

Result<int> run_slurm_doctor(const DoctorOptions& options) {
  const auto start = Clock::now();
  const auto here = make_live_host();
  const auto host = TRY(open_host(options.globals));
  const auto machine = TRY(inspect_as_asked(*host, options.globals, {}));
  SlurmDoctorReport report{.node = TRY(slurm::node_name(*here, options.slurm.node))};
  auto look = TRY(slurm::look_at_conf(*here, *host, machine, report.node,
                                      TRY(slurm::find_conf(*here, options.slurm.conf))));
  report.gpus = machine.gpus.size();
  if (machine.gpus.empty()) report.bus_unread = why_bus_unread(machine);
  report.findings = slurm::check_conf(look);
  report.files = std::move(look.files);
  report.unseen = std::move(look.unseen);
  Envelope envelope = begin_envelope("slurm doctor");
  if (options.globals.replay) envelope.machine_id = envelope.boot_id = std::nullopt;
  envelope.exit = exit_of(report);
  envelope.conclusion = conclusion(report);
  return deliver_report(envelope, report, start, options.globals);
}

}  // namespace

void declare_slurm_install(CommandSpec& command) {
  auto options = std::make_shared<InstallOptions>();
  command.run = [options] { return run_install(*options); };
  command.add({{.name = "--write",
                .value = &options->write,
                .help = "Write the scripts, and add the lines to slurm.conf"},
               {.name = "--folder",
                .value = &options->folder,
                .help = "For the scripts, on every node (default: gpuready/ beside slurm.conf)",
                .type = "FOLDER",
                .files = Files::written},
               {.name = "--interval",
                .value = &options->interval_s,
                .help = "Time between health checks (default: 5m)",
                .range = Range{60, 65535},
                .seconds = true},
               conf_option(options->slurm)});
  add_scontrol(command, options->slurm);
  add_output(command, options->globals);
  command.footer =
      "A hook that slurm.conf gives to another program is left to it, and the report says how both "
      "run.\nExit codes: 0 all hooks are gpuready's, or would be; 1 another program has one; 2 "
      "wrong usage, no slurm.conf, or a file cannot be read or written.";
}

void declare_slurm_doctor(CommandSpec& command) {
  auto options = std::make_shared<DoctorOptions>();
  command.run = [options] { return run_slurm_doctor(*options); };
  add_node(command, options->slurm);
  command.add({replay_option(options->globals.replay)});
  add_output(command, options->globals);
  command.footer =
      "Reads slurm.conf, gres.conf and cgroup.conf.\nExit codes: 0 nothing is wrong; 1 an error "
      "was found; 2 wrong usage, or no slurm.conf; 4 a file cannot be read, or the GPUs cannot be "
      "seen.";
}

}  // namespace gpuready::cli
