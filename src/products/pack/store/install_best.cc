#include "pack/store/install_best.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/text.h"
#include "host/mapped_file.h"
#include "machine/system/system.h"
#include "pack/code/file_report.h"
#include "pack/store/installed.h"
#include "pack/store/load_proof.h"
#include "pack/store/select.h"

namespace gpuready::pack {
namespace {

// Device code of NVIDIA's as a file holds it.
struct Found {
  std::string path;  // within the package
  CarrierGroup group;

  // The driver takes it as it is.
  bool whole() const {
    return group.carrier == Carrier::fat_binary || group.carrier == Carrier::cubin;
  }
  // The driver takes it as it is, or with a zero behind it.
  bool may_be_launched() const { return whole() || group.carrier == Carrier::ptx_text; }
  bool loads_on(const TargetGpu& gpu, const Driver& driver) const {
    return std::ranges::any_of(group.codes, [&](const DeviceCode& code) {
      return can_load(code, gpu, driver).how != How::no;
    });
  }
};

std::vector<Found> code_of(const std::string& folder, const Variant& variant) {
  std::vector<Found> found;
  for (const auto& code : variant.code) {
    const auto file = MappedFile::open(folder + "/" + code.path);
    if (!file) continue;
    for (auto& group : inspect_bytes(code.path, file->bytes(), true).groups)
      found.push_back({code.path, std::move(group)});
  }
  return found;
}

// What a load test tries, one plan a GPU: every library, and of each kind of container in each file
// one that the rules say this GPU loads. For the CPU's variant the libraries alone.
std::vector<LoadPlan> load_plans(const std::string& folder, const Variant& variant,
                                 const SelectMachine& machine,
                                 const std::vector<std::size_t>& gpus) {
  const auto libraries = libraries_of(folder, variant);
  if (variant.for_cpu()) return {{"cpu", "", libraries, {}, variant.name, folder}};
  const auto found = code_of(folder, variant);
  std::vector<LoadPlan> plans;
  for (const auto index : gpus) {
    const auto& gpu = machine.gpus[index];
    if (!gpu.target.cuda || gpu.uuid.empty()) continue;
    LoadPlan plan{gpu.uuid, gpu.name, libraries, {}, variant.name, folder};
    for (const auto& probe : variant.probes) plan.probes.push_back({probe, {}});
    for (const auto& each : found) {
      if (!each.may_be_launched() || !each.loads_on(gpu.target, machine.driver)) continue;
      const auto path = folder + "/" + each.path;
      if (each.whole()) plan.code.push_back({path, each.group.first_offset});
      for (auto& planned : plan.probes)
        if (planned.probe.file == each.path)
          for (const auto offset : each.group.offsets)
            planned.code.push_back({path, offset, !each.whole()});
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

class Best {
 public:
  Best(Host& host, Origin& origin, const SelectMachine& machine, const BestOptions& options)
      : host_(host), origin_(origin), machine_(machine), options_(options), how_(options.how) {}

  BestInstall run() {
    report_.from = origin_.where();
    const auto store = options_.to ? places_of(host_, "", options_.to) : Result<Places>(Places{});
    if (!store) return ended(InstallEnd::failed, store.error());
    auto release = read_release(host_, origin_, options_.key, store->store);
    if (!release)
      return ended(
          release.error().kind == ErrorKind::bad_input ? InstallEnd::refused : InstallEnd::failed,
          release.error());
    release_ = std::move(*release);
    report_.name = release_.manifest.name;
    report_.version = release_.manifest.version;
    const auto places = places_of(host_, report_.name, options_.to);
    if (!places) return ended(InstallEnd::failed, places.error());
    if (const auto fit = check_searchable(places->store); !fit)
      return ended(InstallEnd::failed, fit.error());
    how_.places = *places;
    report_.decision = decide(release_.manifest, machine_);
    if (options_.variant) {
      report_.decision.take_instead(release_.manifest.find(*options_.variant),
                                    fmt::format("--variant names {}.", *options_.variant));
      report_.outcome = install_one(*options_.variant, {});
      return reported();
    }
    const auto& selection = report_.decision.selection;
    report_.model = selection.model;
    report_.notes.push_back(selection.reason);
    if (selection.model_note) report_.notes.push_back(*selection.model_note);
    if (selection.variants.empty()) {
      // A release for GPUs alone has nothing to install here, and that breaks no installer.
      const bool has_cpu = std::ranges::any_of(release_.manifest.variants, &Variant::for_cpu);
      if (has_cpu)
        return ended(InstallEnd::failed, {ErrorKind::unsupported,
                                          selection.reason + " gpuready pack select says why."});
      report_.outcome.end = InstallEnd::nothing;
      return std::move(report_);
    }
    const auto chosen = set_of(selection.variants);
    report_.outcome = install_one(chosen, selection.models);
    fall_back(chosen);
    tell_model();
    return reported();
  }

 private:
  BestInstall reported() {
    for (const auto& note : report_.outcome.notes) report_.notes.push_back(printable(note));
    if (const auto identity = host_.identity(); identity && !report_.outcome.tried.empty())
      report_.load_report =
          load_report(release_.manifest, machine_, report_.outcome.tried, identity->unix_seconds);
    return std::move(report_);
  }
  BestInstall ended(InstallEnd end, const Error& error) {
    report_.outcome.end = end;
    report_.outcome.error = error;
    return std::move(report_);
  }

  // What memory promised gives way to what loaded.
  void tell_model() {
    const auto& outcome = report_.outcome;
    if (outcome.end == InstallEnd::not_loaded) report_.model.reset();
    if (!outcome.installed || outcome.error) return;
    if (outcome.installed->model || outcome.end == InstallEnd::installed)
      report_.model = outcome.installed->model;
    for (const auto& rejected : outcome.rejected_models) report_.notes.push_back(rejected);
  }

  InstallOutcome install_one(const std::string& variant, const std::vector<Model>& models) {
    auto target = target_of(variant);
    const auto meminfo = host_.read_file("/proc/meminfo");
    const auto available = meminfo ? parse_meminfo(*meminfo, "MemAvailable") : std::nullopt;
    for (const auto& model : models) {
      auto& plan = target.models.emplace_back();
      plan.model = model;
      plan.memory_bytes = model.memory_bytes ? *model.memory_bytes : available.value_or(0);
      if (const auto gpu = report_.decision.selection.model_gpu; model.free_bytes > 0 && gpu)
        plan.device = machine_.gpus[*gpu].uuid;
    }
    return install(host_, origin_, release_, target, how_);
  }

  // What does not load, or cannot be fetched, must not break whoever installs: the CPU's variant
  // does.
  void fall_back(const std::string& chosen) {
    const auto& outcome = report_.outcome;
    const bool falls_back = may_be_replaced(outcome);
    if (falls_back && outcome.end == InstallEnd::failed && keeps_what_is_here(chosen)) return;
    const auto cpu = cpu_variant();
    if (!falls_back || !cpu || *cpu == chosen) return;
    const auto why = fmt::format("{}: {}", chosen, printable(outcome.error->message));
    report_.notes.push_back(why);
    auto instead = install_one(*cpu, models_within(release_.manifest, 0));
    instead.tried.insert(instead.tried.begin(), outcome.tried.begin(), outcome.tried.end());
    if (instead.end != InstallEnd::installed && instead.end != InstallEnd::unchanged) return;
    report_.notes.push_back("So the CPU's variant is installed.");
    report_.decision.take_instead(release_.manifest.find(*cpu), why);
    report_.outcome = std::move(instead);
  }

  // A version for GPUs that was installed before serves better than the new one's CPU variant.
  bool keeps_what_is_here(const std::string& chosen) {
    const Store store(host_, *how_.storage, how_.places.store);
    const auto current = read_current(store);
    const auto& error = report_.outcome.error;
    if (!current || !error) return false;
    const auto variant = current->variant();
    if (variant.for_cpu() || !store.is_whole(current->installed.number, variant)) return false;
    const auto why =
        fmt::format("{} of {}: {}", chosen, release_.manifest.version, printable(error->message));
    report_.notes.push_back(why);
    report_.notes.emplace_back("So the version that was installed before stays.");
    report_.decision.take_instead({}, why);
    report_.version = current->manifest.version;
    report_.outcome.end = InstallEnd::unchanged;
    report_.outcome.installed = current->installed;
    report_.outcome.error.reset();
    return true;
  }

  std::optional<std::string> cpu_variant() const {
    const auto& considered = report_.decision.selection.considered;
    for (std::size_t i = 0; i < considered.size(); ++i)
      if (release_.manifest.variants[i].for_cpu() && considered[i].problems.empty())
        return considered[i].name;
    return std::nullopt;
  }

  // The GPUs that a variant was chosen for.
  std::vector<std::size_t> served_by(const std::string& variant) const {
    for (const auto& considered : report_.decision.selection.considered)
      if (considered.name == variant) return considered.serves;
    return {};
  }

  InstallTarget target_of(const std::string& variant) const {
    InstallTarget target;
    target.variant = variant;
    target.machine = machine_.mark;
    const auto members = members_of(variant);
    const auto served = members.empty() ? std::vector<std::size_t>() : served_by(members.front());
    for (const auto& gpu : machine_.gpus) target.gpus.push_back(gpu.text());
    if (const auto* gpu = !served.empty()          ? &machine_.gpus[served.front()]
                          : !machine_.gpus.empty() ? &machine_.gpus.front()
                                                   : nullptr) {
      target.gpu.name = gpu->name;
      if (gpu->target.cuda) target.gpu.compute_capability = gpu->target.cuda->capability();
    }
    // Of a set each member is tried on its own GPUs.
    if (options_.load_test)
      target.plans = [this, members](const std::string& folder, const Variant& set) {
        std::vector<LoadPlan> plans;
        for (const auto& member : members) {
          const auto below = folder_of_member(set.name, member);
          std::ranges::move(
              load_plans(below.empty() ? folder : folder + "/" + below,
                         *release_.manifest.find(member), machine_, served_by(member)),
              std::back_inserter(plans));
        }
        return plans;
      };
    return target;
  }

  Host& host_;
  Origin& origin_;
  const SelectMachine& machine_;
  const BestOptions& options_;
  InstallOptions how_;
  Release release_ = {};
  BestInstall report_ = {};
};

}  // namespace

bool may_be_replaced(const InstallOutcome& outcome) {
  constexpr int kOfTheDisk[] = {ENOSPC, EDQUOT, EROFS};
  if (outcome.end == InstallEnd::not_loaded) return true;
  const auto& error = outcome.error;
  return outcome.end == InstallEnd::failed && error && error->kind != ErrorKind::cancelled &&
         error->kind != ErrorKind::busy &&
         std::ranges::find(kOfTheDisk, error->code) == std::end(kOfTheDisk);
}

Result<PublicKey> read_public_key(Host& host, const std::string& text) {
  const auto file = host.read_file(text, 4096);
  if (file) return parse_public_key(*file, text);
  const auto key = parse_public_key(text, "--key");
  if (key) return key;
  return fail(ErrorKind::bad_input,
              "--key " + text + ": neither a file with a public key nor such a key (RWQ...)");
}

Result<Release> read_trusted_release(Host& host, Origin& origin,
                                     const std::optional<PublicKey>& key,
                                     const std::optional<std::string>& to) {
  const auto named = to ? TRY(places_of(host, "", to)).store : std::string();
  auto release = TRY(read_release(host, origin, key, named));
  const auto store = TRY(places_of(host, release.manifest.name, to)).store;
  TRY(check_history(TRY(Store(host, live_storage(), store).state()), release, store,
                    origin.where()));
  return release;
}

Result<Places> places_of(Host& host, const std::string& name,
                         const std::optional<std::string>& folder) {
  if (!folder) return default_places(host, name);
  const auto store = std::filesystem::absolute(*folder).lexically_normal().string();
  return Places{store, store + "/gpu-package-info.json"};
}

BestInstall install_best(Host& host, Origin& origin, const SelectMachine& machine,
                         const BestOptions& options) {
  return Best(host, origin, machine, options).run();
}

}  // namespace gpuready::pack
