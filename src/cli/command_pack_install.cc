#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "cli/pack_commands.h"
#include "cli/pack_machine.h"
#include "cli/pack_options.h"
#include "cli/terminal.h"
#include "pack/store/load_plans.h"
#include "report/exit_rules.h"
#include "report/pack/install_report.h"

namespace gpuready::cli {
namespace {

struct Options {
  Globals globals;
  MachineOptions machine;
  std::string from;
  std::optional<std::string> key, to, variant;
  bool dry_run = false, no_load_test = false;
};

// "fetching 412 MiB of 1.0 GiB, 52 MB/s"
struct Progress {
  ProgressLine& line;
  Clock::time_point start = Clock::now();
  void operator()(std::string_view step, std::uint64_t done, std::uint64_t total) const {
    const double seconds = elapsed_ms(start) / 1000;
    line.show(total == 0 ? std::string(step)
                         : fmt::format(
                               "{} {} of {}, {}", step, format_bytes(done), format_bytes(total),
                               format_rate(seconds > 0 ? static_cast<double>(done) / seconds : 0)));
  }
};

InstallReport ended(pack::InstallEnd end, const Error& error, const Options& options) {
  InstallReport report;
  report.from = options.from;
  report.outcome.end = end;
  report.outcome.error = error;
  return report;
}

// Everything that is known before anything is written.
struct Prepared {
  std::unique_ptr<pack::Origin> origin;
  pack::Release release;
  pack::SelectMachine machine;
  pack::Selection selection;
  pack::InstallOptions how;
};

Result<Prepared> prepare(Host& host, const Options& options) {
  Prepared all;
  pack::OriginOptions limits;
  limits.cancel = &interrupted();
  std::optional<pack::PublicKey> key;
  if (options.key) key = TRY(read_public_key(host, *options.key));
  all.machine = TRY(machine_for(options.machine));
  all.origin = TRY(pack::open_origin(host, options.from, limits));
  all.how.dry_run = options.dry_run;
  all.how.cancel = &interrupted();
  return all;
}

// The GPUs that a variant was chosen for.
std::vector<std::size_t> served_by(const pack::Selection& selection, const std::string& variant) {
  for (const auto& considered : selection.considered)
    if (considered.name == variant) return considered.serves;
  return {};
}

pack::InstallTarget target_of(const Prepared& all, const std::string& variant,
                              const Options& options) {
  pack::InstallTarget target;
  target.variant = variant;
  target.machine = all.machine.mark;
  const auto members = pack::members_of(variant);
  const auto served = served_by(all.selection, members.front());
  for (const auto& gpu : all.machine.gpus) target.gpus.push_back(gpu.text());
  if (const auto* gpu = !served.empty()             ? &all.machine.gpus[served.front()]
                        : !all.machine.gpus.empty() ? &all.machine.gpus.front()
                                                    : nullptr) {
    target.gpu_name = gpu->name;
    if (gpu->target.cuda) target.compute_capability = gpu->target.cuda->capability();
  }
  // A machine that is not this one cannot be tried.
  if (!options.no_load_test && !options.machine.gpus && !options.machine.replay)
    // Of a set each member is tried on its own GPUs.
    target.plans = [&all, members](const std::string& folder, const pack::Variant& set) {
      std::vector<pack::LoadPlan> plans;
      for (const auto& member : members) {
        const auto below = pack::folder_of_member(set.name, member);
        std::ranges::move(pack::load_plans(below.empty() ? folder : folder + "/" + below,
                                           *all.release.manifest.find(member), all.machine,
                                           served_by(all.selection, member)),
                          std::back_inserter(plans));
      }
      return plans;
    };
  return target;
}

const pack::Variant* cpu_variant(const Prepared& all) {
  for (const auto& variant : all.release.manifest.variants)
    for (const auto& considered : all.selection.considered)
      if (variant.for_cpu() && considered.name == variant.name && considered.problems.empty())
        return &variant;
  return nullptr;
}

InstallReport install(const Options& options) {
  using pack::InstallEnd;
  const auto host = make_live_host();
  auto prepared = prepare(*host, options);
  if (!prepared) return ended(InstallEnd::failed, prepared.error(), options);
  auto& all = *prepared;
  std::optional<pack::PublicKey> key;
  if (options.key) key = *read_public_key(*host, *options.key);
  const auto store = options.to ? places_of(*host, "", options.to)->store : std::string();
  auto release = pack::read_release(*host, *all.origin, key, store);
  if (!release)
    return ended(
        release.error().kind == ErrorKind::bad_input ? InstallEnd::refused : InstallEnd::failed,
        release.error(), options);
  all.release = std::move(*release);
  const auto& manifest = all.release.manifest;
  const auto places = places_of(*host, manifest.name, options.to);
  if (!places) return ended(InstallEnd::failed, places.error(), options);
  all.how.places = *places;
  all.selection = pack::select_variant(manifest, all.machine);

  InstallReport report{manifest.name, manifest.version, all.origin->where(), {}, {}, {}};
  if (!options.variant) {
    report.model = all.selection.model;
    report.notes.push_back(all.selection.reason);
  }
  if (!options.variant && all.selection.variants.empty()) {
    report.outcome.end = InstallEnd::failed;
    report.outcome.error =
        Error{ErrorKind::unsupported, all.selection.reason + " gpuready pack select says why."};
    return report;
  }
  ProgressLine line(options.globals.quiet);
  all.how.progress = Progress{line};
  const auto variant = options.variant.value_or(join(all.selection.variants, "+"));
  report.outcome =
      pack::install(*host, *all.origin, all.release, target_of(all, variant, options), all.how);

  // What does not load, or cannot be fetched, must not break whoever installs: the CPU's variant
  // does.
  const bool falls_back = report.outcome.end == InstallEnd::not_loaded ||
                          (report.outcome.end == InstallEnd::failed && report.outcome.error &&
                           report.outcome.error->kind != ErrorKind::cancelled);
  const auto* cpu = cpu_variant(all);
  if (!options.variant && falls_back && cpu != nullptr && cpu->name != variant) {
    report.notes.push_back(
        fmt::format("{}: {}", variant, printable(report.outcome.error->message)));
    auto outcome =
        pack::install(*host, *all.origin, all.release, target_of(all, cpu->name, options), all.how);
    if (outcome.end == InstallEnd::installed || outcome.end == InstallEnd::unchanged) {
      report.notes.push_back("So the CPU's variant is installed.");
      report.outcome = std::move(outcome);
      report.model.reset();
    }
  }
  return report;
}

int run(const Options& options) {
  const auto start = Clock::now();
  if (const auto bad = bad_output(options.globals)) return complain(*bad);
  catch_interrupts();
  const auto report = install(options);
  Envelope envelope = begin_envelope("pack install");
  conclude(report, envelope);
  envelope.notes = report.notes;
  return deliver_report(envelope, report, start, options.globals);
}

}  // namespace

void declare_pack_install(CommandSpec& command) {
  auto options = std::make_shared<Options>();
  command.run = [options] { return run(*options); };
  command.add({
      {.name = "FROM",
       .value = &options->from,
       .help = "A release: a folder, its manifest.json, or an http(s) URL",
       .required = true},
      key_option(options->key),
      {.name = "--variant",
       .value = &options->variant,
       .help = "This variant, whatever the machine is",
       .type = "NAME"},
      place_option(options->to),
      {.name = "--dry-run",
       .value = &options->dry_run,
       .help = "Say what would be fetched; write nothing"},
      {.name = "--no-load-test",
       .value = &options->no_load_test,
       .help = "Do not open the libraries before they are used"},
  });
  add_machine_options(command, options->machine);
  add_output(command, options->globals);
  command.footer =
      "Exit codes: 0 installed, or it was already; 1 not trusted (signature, hash, expiry, an "
      "older\n"
      "version) or it does not load: nothing was changed; 2 wrong usage; 4 not reached, or no "
      "room.";
}

}  // namespace gpuready::cli
