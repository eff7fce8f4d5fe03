// `slurm install` and `slurm doctor`: Slurm's configuration.
#include <fmt/format.h>
#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/clock.h"
#include "base/paths.h"
#include "base/text.h"
#include "cli/deliver_report.h"
#include "host/atomic_file.h"
#include "jobs/helper.h"
#include "machine/gpu_use.h"
#include "slurm/check_conf.h"
#include "slurm/cli/slurm_commands.h"
#include "slurm/cli/slurm_node.h"
#include "slurm/report/exit_rules.h"

namespace gpuready::cli {
namespace {

constexpr std::uint32_t kScriptMode = 0755;
constexpr const char* kPluginFolders[] = {"/usr/lib/x86_64-linux-gnu/slurm-wlm",
                                          "/usr/lib/aarch64-linux-gnu/slurm-wlm",
                                          "/usr/lib64/slurm",
                                          "/usr/lib/slurm",
                                          "/usr/local/lib/slurm",
                                          "/opt/slurm/lib/slurm"};

struct InstallOptions {
  Globals globals;
  SlurmNodeOptions slurm;
  std::optional<std::string> folder;
  double interval_s = 300;
  bool write = false;
};

Result<std::string> conf_path(Host& host, const SlurmNodeOptions& options) {
  if (!options.conf) return slurm::find_conf(host);
  if (options.conf->starts_with('/')) return *options.conf;
  return host.real_path(*options.conf);
}

Result<void> write_setup(const SlurmInstallReport& report, const std::string& conf_text,
                         const std::string& folder) {
  Storage& storage = live_storage();
  if (const auto made = storage.make_folder(folder, kScriptMode);
      !made && made.error().code != EEXIST)
    return made;
  for (const auto& file : report.files)
    TRY(write_file_atomically(file.path, file.content, {.mode = kScriptMode}));
  if (report.lines.empty()) return {};
  return write_file_atomically(report.conf, slurm::with_lines(conf_text, report.lines),
                               {.keep_owner = true});
}

Result<int> run_install(const InstallOptions& options) {
  const auto start = Clock::now();
  const auto host = make_live_host();
  SlurmInstallReport report{.conf = TRY(conf_path(*host, options.slurm))};
  const auto conf_text = TRY(host->read_file(report.conf));
  std::vector<std::string> unread;
  const auto conf = TRY(slurm::read_conf(*host, report.conf, unread));
  slurm::SetupChoice choice{.gpuready = TRY(host->real_path(helper_job({}).program)),
                            .folder = options.folder.value_or(folder_of(report.conf) + "/gpuready"),
                            .scontrol = options.slurm.scontrol,
                            .conf = options.slurm.conf ? std::optional(report.conf) : std::nullopt,
                            .interval_s = static_cast<int>(options.interval_s)};
  if (!choice.folder.starts_with('/'))
    return fail(ErrorKind::bad_input,
                "--folder " + printable(choice.folder) + ": Slurm wants an absolute path");
  if (!slurm::can_be_value(choice.folder))
    return fail(ErrorKind::bad_input,
                printable(choice.folder) +
                    ": Slurm cannot read the path of a hook with blanks, quotes or characters of "
                    "patterns; name another folder for the scripts by --folder");
  auto setup = slurm::plan_setup(conf, choice);
  report.files = std::move(setup.scripts);
  report.lines = std::move(setup.lines);
  report.taken = std::move(setup.taken);
  report.hints = std::move(setup.notes);
  for (const auto& file : unread) report.hints.push_back("not read: " + file);
  if (options.write) {
    TRY(write_setup(report, conf_text, choice.folder));
    report.written = true;
  }
  Envelope envelope = begin_envelope("slurm install");
  envelope.exit = exit_of(report);
  envelope.conclusion = conclusion(report);
  return deliver_report(envelope, report, start, options.globals);
}

struct DoctorOptions {
  Globals globals;
  SlurmNodeOptions slurm;
};

std::optional<bool> has_nvml_plugin(Host& host, const slurm::Conf& conf) {
  std::vector<std::string> folders(std::begin(kPluginFolders), std::end(kPluginFolders));
  if (const auto named = slurm::value_of(conf, "PluginDir")) {
    folders.clear();
    for (const auto folder : split(*named, ":")) folders.emplace_back(folder);
  }
  std::optional<bool> found;
  for (const auto& folder : folders)
    if (host.exists(folder)) found = found.value_or(false) || host.exists(folder + "/gpu_nvml.so");
  return found;
}

bool is_pattern(std::string_view path) { return path.find_first_of("*?[") != path.npos; }

// What this user may not look into is not known to be missing.
std::optional<std::string> hidden_folder(const std::string& hook) {
  const std::string folder(folder_of(hook));
  if (::access(folder.c_str(), is_pattern(hook) ? R_OK | X_OK : X_OK) == 0 || errno != EACCES)
    return std::nullopt;
  return folder;
}

// The files that Slurm starts: of a pattern all that match.
std::optional<std::string> why_not_startable(Host& host, const std::string& pattern) {
  glob_t found{};
  const int failed = ::glob(pattern.c_str(), 0, nullptr, &found);
  const std::vector<std::string> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (failed != 0) return is_pattern(pattern) ? "matches no file" : "does not exist";
  for (const auto& file : files) {
    const auto status = host.status(file);
    const char* why = !status                               ? "does not exist"
                      : status->kind == FileKind::directory ? "is a folder"
                      : status->kind != FileKind::regular   ? "is not a regular file"
                      : (status->mode & 0111) == 0          ? "is not executable"
                                                            : nullptr;
    if (why != nullptr)
      return is_pattern(pattern) ? fmt::format("names {}, which {}", file, why) : why;
  }
  return std::nullopt;
}

Result<int> run_slurm_doctor(const DoctorOptions& options) {
  const auto start = Clock::now();
  // The configuration is this machine's, also where the GPUs are a recording's.
  const auto here = make_live_host();
  const auto host = TRY(open_host(options.globals));
  const auto machine = TRY(inspect_as_asked(*host, options.globals, {}));
  SlurmDoctorReport report{.node = TRY(node_name(*here, options.slurm))};
  slurm::ConfView view{.machine = machine, .node = report.node};
  const auto path = TRY(conf_path(*here, options.slurm));
  view.slurm = TRY(slurm::read_conf(*here, path, report.unseen));
  const auto beside = [&](const char* name) -> std::optional<slurm::Conf> {
    auto conf = slurm::read_conf(*here, folder_of(path) + "/" + name, report.unseen);
    if (conf) return *std::move(conf);
    // Slurm reads nothing from what is not a regular file.
    if (conf.error().kind == ErrorKind::unsupported)
      view.no_gres = "it is not a regular file";
    else if (conf.error().kind != ErrorKind::not_found)
      report.unseen.push_back(conf.error().message);
    return std::nullopt;
  };
  view.folder = folder_of(path);
  view.cgroup = beside("cgroup.conf");
  view.no_gres = "the file is missing";
  view.gres = beside("gres.conf");
  view.nvml_plugin = has_nvml_plugin(*here, view.slurm);
  for (const auto& file : slurm::device_files(view))
    if (!host->exists(file)) view.missing[file] = "does not exist";
  for (const auto& hook : slurm::hook_lines(view)) {
    if (const auto folder = hidden_folder(hook.path)) {
      report.unseen.push_back(*folder + ": permission denied");
      continue;
    }
    if (const auto why = why_not_startable(*here, hook.path)) view.missing[hook.path] = *why;
  }
  for (const auto* conf :
       {&view.slurm, view.gres ? &*view.gres : nullptr, view.cgroup ? &*view.cgroup : nullptr})
    if (conf != nullptr)
      for (const auto& line : *conf)
        if (std::ranges::find(report.files, line.file) == report.files.end())
          report.files.push_back(line.file);
  report.gpus = machine.gpus.size();
  if (machine.gpus.empty()) report.bus_unread = why_bus_unread(machine);
  // What was not read could say anything.
  if (report.unseen.empty()) report.findings = slurm::check_conf(view);
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
