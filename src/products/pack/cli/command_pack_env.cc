// `gpuready pack env`: what a program needs to find a package's libraries, and whether the machine
// is still the one that they were chosen for.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "base/paths.h"
#include "base/text.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "machine/system/loader_cache.h"
#include "pack/cli/pack_commands.h"
#include "pack/cli/pack_machine.h"
#include "pack/cli/pack_options.h"
#include "pack/report/env_report.h"
#include "pack/report/exit_rules.h"

namespace gpuready::cli {
namespace {

struct PackEnvOptions {
  Globals globals;
  MachineOptions machine;
  std::optional<std::string> name, to, variant;
  bool check = false;
};

// `wanted`: of a set of variants, the one that the program's GPU wants; else the first.
Result<EnvReport> environment_of(const InstalledPackage& here,
                                 const std::optional<std::string>& wanted) {
  const auto current = TRY(pack::read_current(here.store()));
  const auto& set = current.installed.variant;
  const auto members = pack::members_of(set);
  const auto member = wanted.value_or(members.front());
  if (std::ranges::find(members, member) == members.end())
    return fail(ErrorKind::bad_input,
                fmt::format("--variant {}: installed is {}", member, join(members, " and ")));
  const auto variant = *current.manifest.find(member);
  const auto below = pack::folder_of_member(set, member);
  EnvReport found;
  found.folders = pack::library_folders(
      here.places.store + "/current" + (below.empty() ? "" : "/" + below), variant);
  for (const auto& folder : found.folders) TRY(pack::check_searchable(folder));
  LibrarySearch search(*here.host);
  for (const auto& file : variant.files) {
    const std::string name(base_name(file.path));
    if (name.find(".so") == name.npos) continue;
    const auto path = search.find(name);
    if (path && !path->starts_with(here.places.store)) found.shadowed.emplace_back(name, *path);
  }
  return found;
}

// What changed on this machine since the installation. Only files are read.
std::optional<std::string> change_since(const pack::Installed& installed,
                                        const InstalledPackage& here) {
  const auto now = pack::machine_mark(inspect(*here.host, {.libraries = false}));
  if (!installed.machine) return "it was installed without a look at this machine";
  if (now == *installed.machine) return std::nullopt;
  return fmt::format("it was installed for {}, and {} is here now", *installed.machine, now);
}

// Nothing is decided unless something changed, so that a program can ask at each start.
Result<EnvReport> check(const InstalledPackage& here, const PackEnvOptions& options) {
  const auto current = TRY(pack::read_current(here.store()));
  EnvReport found;
  found.checks = options.machine.is_this_one() ? EnvCheck::this_machine : EnvCheck::another_machine;
  if (found.checks == EnvCheck::this_machine) {
    found.change = change_since(current.installed, here);
    if (!found.change) return found;
    found.again = fmt::format("gpuready pack install {}", current.installed.from);
    if (options.to) found.again += " --to " + here.places.store;
  }
  const auto selection = pack::select_variant(current.manifest, TRY(machine_for(options.machine)));
  if (!selection.variants.empty()) found.variant = pack::set_of(selection.variants);
  found.right = found.variant == current.installed.variant;
  return found;
}

int run_pack_env(const PackEnvOptions& options) {
  const auto start = Clock::now();
  const auto here = open_here(options.name, options.to);
  if (!here) return complain(here.error(), exit_of_error(here.error()));
  const auto found = options.check ? check(*here, options) : environment_of(*here, options.variant);
  if (!found) return complain(found.error(), exit_of_error(found.error()));
  Envelope envelope = begin_envelope("pack env");
  conclude(*found, envelope);
  return deliver_report(envelope, *found, start, options.globals);
}

}  // namespace

void declare_pack_env(CommandSpec& command) {
  auto options = std::make_shared<PackEnvOptions>();
  command.run = [options] { return run_pack_env(*options); };
  command.add({
      {.name = "NAME",
       .value = &options->name,
       .help = "The package",
       .files = Files::read,
       .files_of = files_of_package},
      place_option(options->to),
      {.name = "--variant",
       .value = &options->variant,
       .help = "This variant, if several are installed for different GPUs",
       .type = "NAME"},
      {.name = "--check",
       .value = &options->check,
       .help = "Check whether the GPUs and the driver are still those of the installation"},
  });
  add_machine_options(command, options->machine, "--check");
  add_output(command, options->globals);
  command.footer =
      "For a shell: eval \"$(gpuready pack env NAME)\". Comments name the system libraries that "
      "the\npackage replaces. --check --gpu or --replay says whether what is installed is right "
      "for\nanother machine, or for this one after a change. Exit codes: 0 done, or nothing "
      "changed; 1 the\nmachine needs another variant; 2 nothing is installed.";
}

}  // namespace gpuready::cli
