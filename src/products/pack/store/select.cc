#include "pack/store/select.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/units.h"
#include "pack/release/scan.h"
#include "pack/rules/releases.h"

namespace gpuready::pack {
namespace {

// The levels of the x86-64 psABI, each with what it needs beyond the one before.
std::optional<std::string> this_cpu() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("ssse3") &&
                  __builtin_cpu_supports("popcnt");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                  __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v4 ? "x86-64-v4" : v3 ? "x86-64-v3" : v2 ? "x86-64-v2" : "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return std::nullopt;
#endif
}

// "x86-64" is the first level.
std::pair<std::string, int> level_of(std::string_view cpu) {
  const auto at = cpu.rfind("-v");
  if (at == cpu.npos) return {std::string(cpu), 1};
  return {std::string(cpu.substr(0, at)),
          static_cast<int>(parse_int(cpu.substr(at + 2)).value_or(1))};
}

// What of the machine a variant's floors forbid. What is not known forbids nothing.
void check_floors(const Variant& variant, const SelectMachine& machine, ConsideredVariant& out) {
  const auto cuda = machine.driver.cuda_known();
  struct Floor {
    const char* what;
    bool of_gpus;
    const std::optional<std::string>& least;
    const std::optional<Version>& here;
  };
  for (const auto& [what, of_gpus, least, here] :
       {Floor{"driver", true, variant.floors.driver, machine.driver.version},
        Floor{"CUDA of the driver", true, variant.floors.cuda, cuda},
        Floor{"glibc", false, variant.floors.glibc, machine.glibc}}) {
    const auto wanted = least ? parse_version(*least) : std::nullopt;
    if (!wanted || (of_gpus && variant.for_cpu()) || !here || reaches(*here, *wanted)) continue;
    out.problems.push_back(
        fmt::format("needs {} {}, and {} is here", what, *least, driver_text(*here)));
  }
  if (!variant.floors.cpu || !machine.cpu) return;
  const auto [wanted, least] = level_of(*variant.floors.cpu);
  const auto [here, level] = level_of(*machine.cpu);
  if (wanted != here || level < least)
    out.problems.push_back(
        fmt::format("needs a processor {}, and {} is here", *variant.floors.cpu, *machine.cpu));
}

ConsideredVariant consider(const Variant& variant, const SelectMachine& machine) {
  ConsideredVariant out;
  out.name = variant.name;
  check_floors(variant, machine, out);
  if (variant.for_cpu() || !out.problems.empty()) return out;
  if (variant.code.empty()) {
    out.problems.push_back("it holds no device code");
    return out;
  }
  const auto files = judged_files(variant);
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const auto& gpu = machine.gpus[i];
    if (const auto obstacle = driver_obstacle(gpu.target, machine.driver); !obstacle.empty()) {
      out.problems.push_back(fmt::format("{}: {}", gpu.text(), obstacle));
      continue;
    }
    // Each file with device code must load, at least in part: a library that does not breaks the
    // program.
    FileAnswer all;
    std::map<std::string, std::vector<std::string>> lacking;  // files, by why
    for (const auto& file : files) {
      const auto answer = explain(file, gpu.target, machine.driver);
      if (answer.runs == Runs::none) lacking[answer.why_none()].push_back(file.path);
      all.by_cubin += answer.by_cubin;
      all.by_jit += answer.by_jit;
      all.taken += answer.taken;
    }
    for (const auto& [why, paths] : lacking)
      out.problems.push_back(fmt::format("{}: {}: {}", gpu.text(), join(paths, ", "), why));
    if (!lacking.empty() || all.loads() == 0) continue;
    out.serves.push_back(i);
    out.nearness += static_cast<int>(all.taken / all.loads());
    // A probe or two in PTX are compiled in no time.
    if (all.by_jit > all.by_cubin) out.by_jit.push_back(i);
  }
  return out;
}

// A variant that serves some of the GPUs that none of the chosen serves.
struct Candidate {
  ConsideredVariant* variant;
  std::size_t added;  // how many of these GPUs
  std::uint64_t bytes;
};

// Why the first is better: it serves more of what is left; then compiles less at the first start;
// then is made for newer GPUs; then is smaller. Empty: it is not.
std::string_view advantage(const Candidate& a, const Candidate& b) {
  const auto first = [](auto one, auto other, std::string_view why) {
    return one > other ? why : std::string_view();
  };
  if (a.added != b.added) return first(a.added, b.added, "serves more GPUs");
  const auto compiled = a.variant->by_jit.size(), others = b.variant->by_jit.size();
  if (compiled != others) return first(others, compiled, "compiles less at the first start");
  if (a.variant->nearness != b.variant->nearness)
    return first(a.variant->nearness, b.variant->nearness, "has code for newer GPUs");
  return first(b.bytes, a.bytes, "is smaller");
}

// Greedy set cover: the variant that serves most GPUs that no one serves yet, and so on.
void choose(const Manifest& manifest, Selection& selection, std::size_t gpus) {
  std::set<std::size_t> left;
  for (std::size_t i = 0; i < gpus; ++i) left.insert(i);
  while (!left.empty()) {
    std::vector<Candidate> candidates;
    for (std::size_t v = 0; v < manifest.variants.size(); ++v) {
      auto& variant = selection.considered[v];
      const auto added = static_cast<std::size_t>(std::ranges::count_if(
          variant.serves, [&](std::size_t gpu) { return left.contains(gpu); }));
      if (added > 0) candidates.push_back({&variant, added, manifest.variants[v].content_bytes()});
    }
    if (candidates.empty()) break;
    // The first of equals.
    const auto best = *std::ranges::min_element(
        candidates, [](const auto& a, const auto& b) { return !advantage(a, b).empty(); });
    for (const auto& other : candidates) {
      const auto why = advantage(best, other);
      other.variant->why_not =
          fmt::format("{} {}", best.variant->name, why.empty() ? "comes first" : why);
    }
    selection.variants.push_back(best.variant->name);
    for (const auto gpu : best.variant->serves) left.erase(gpu);
  }
  selection.unserved.assign(left.begin(), left.end());
}

// Marks what is chosen, and says of each other variant why it is not, unless it has problems.
void mark_chosen(Selection& selection) {
  for (auto& considered : selection.considered) {
    considered.chosen =
        std::ranges::find(selection.variants, considered.name) != selection.variants.end();
    if (considered.chosen) considered.why_not.clear();
    if (!considered.chosen && considered.problems.empty() && considered.why_not.empty())
      considered.why_not = selection.reason;
  }
}

void choose_models(const Manifest& manifest, Selection& selection, const SelectMachine& machine) {
  std::uint64_t free = 0;
  if (!selection.for_cpu && !selection.variants.empty())
    for (const auto& considered : selection.considered)
      if (considered.name == selection.variants.front())
        for (const auto gpu : considered.serves)
          if (const auto here = machine.gpus[gpu].free_bytes.value_or(0);
              here > free || !selection.model_gpu) {
            free = std::max(free, here);
            selection.model_gpu = gpu;
          }
  selection.models = models_within(manifest, free);
  if (!selection.models.empty()) selection.model = selection.models.front().name;
  const bool is_unknown =
      selection.model_gpu && !machine.gpus[*selection.model_gpu].free_bytes.has_value();
  if (is_unknown &&
      std::ranges::any_of(manifest.models, [](const Model& model) { return model.free_bytes > 0; }))
    selection.model_note =
        "How much memory of the GPU is free is not known, so no model that needs it is chosen "
        "(--gpu takes it by --free-mb).";
}

std::string reason_of(const Selection& selection, const SelectMachine& machine,
                      bool has_cpu_variant) {
  const auto gpus = machine.gpus.size();
  const std::string no_gpu =
      gpus > 0 ? "No variant loads on a GPU of this machine"
      : machine.unknown_gpus > 0
          ? "No driver answers for the GPU that is here (gpuready doctor says why)"
          : "No GPU is here";
  if (selection.variants.empty())
    return no_gpu + (has_cpu_variant ? ", and the release's variant for the CPU does not fit."
                                     : ", and the release has no variant for the CPU.");
  if (selection.for_cpu) return no_gpu + ", so the CPU's is chosen.";
  const auto chosen = join(selection.variants, " and ");
  std::string text;
  if (selection.variants.size() == 1)
    text = selection.unserved.empty()
               ? fmt::format("{} serves {}.", chosen,
                             gpus == 1 ? machine.gpus[0].text() : fmt::format("all {} GPUs", gpus))
               : fmt::format("{} serves {} of {} GPUs.", chosen, gpus - selection.unserved.size(),
                             gpus);
  else
    text = fmt::format("No variant serves all GPUs; {} together serve {} of {}.", chosen,
                       gpus - selection.unserved.size(), gpus);
  return text;
}

}  // namespace

std::string SelectGpu::text() const {
  return name.empty() ? target.name() : fmt::format("{} ({})", name, target.name());
}

SelectMachine select_machine(const Machine& machine) {
  SelectMachine out;
  for (const auto& gpu : machine.gpus) {
    if (gpu.faked || gpu.excluded.value_or(false) || gpu.visible_to_cuda == false) continue;
    SelectGpu one;
    if (gpu.compute_capability) one.target.cuda = parse_cuda_target(*gpu.compute_capability);
    if (gpu.gfx_target) one.target.gfx = parse_gfx_target(*gpu.gfx_target);
    if (!one.target.cuda && !one.target.gfx) {
      out.unknown_gpus += gpu.vendor == Vendor::nvidia || gpu.vendor == Vendor::amd;
      continue;
    }
    one.name = gpu.name;
    one.uuid = gpu.uuid.value_or("");
    one.free_bytes = gpu.memory.free_bytes ? gpu.memory.free_bytes : gpu.memory.total_bytes;
    out.gpus.push_back(std::move(one));
  }
  const auto& nvidia = machine.nvidia;
  if (const auto& text = nvidia.driver_version ? nvidia.driver_version : nvidia.module_version)
    out.driver.version = parse_version(*text);
  if (nvidia.cuda_version) out.driver.cuda = parse_version(*nvidia.cuda_version);
  return out;
}

std::string machine_mark(const Machine& machine) {
  std::string text = fmt::format("driver {}, GPUs", machine.nvidia.module_version.value_or("none"));
  for (const auto& device : machine.pci)
    if (device.is_gpu) text += fmt::format(" {:04x}:{:04x}", device.vendor_id, device.device_id);
  return text;
}

void add_system(SelectMachine& machine) {
  machine.glibc = parse_version(gnu_get_libc_version());
  machine.cpu = this_cpu();
}

std::vector<Model> models_within(const Manifest& manifest, std::uint64_t free_bytes) {
  std::vector<Model> models;
  for (const auto& model : manifest.models)
    if (model.free_bytes <= free_bytes) models.push_back(model);
  return models;
}

Selection select_variant(const Manifest& manifest, const SelectMachine& machine) {
  Selection selection;
  for (const auto& variant : manifest.variants)
    selection.considered.push_back(consider(variant, machine));
  choose(manifest, selection, machine.gpus.size());
  if (selection.variants.empty()) {
    for (std::size_t v = 0; v < manifest.variants.size() && selection.variants.empty(); ++v)
      if (manifest.variants[v].for_cpu() && selection.considered[v].problems.empty()) {
        selection.variants.push_back(manifest.variants[v].name);
        selection.for_cpu = true;
      }
  }
  selection.reason =
      reason_of(selection, machine, std::ranges::any_of(manifest.variants, &Variant::for_cpu));
  mark_chosen(selection);
  choose_models(manifest, selection, machine);
  return selection;
}

Decision decide(const Manifest& manifest, SelectMachine machine) {
  auto selection = select_variant(manifest, machine);
  return {std::move(machine), std::move(selection)};
}

void Decision::take_instead(const std::optional<Variant>& variant, const std::string& because) {
  for (auto& considered : selection.considered)
    if (considered.chosen) considered.why_not = because;
  selection.variants = variant ? members_of(variant->name) : std::vector<std::string>();
  selection.for_cpu = variant && variant->for_cpu();
  selection.reason = because;
  mark_chosen(selection);
}

}  // namespace gpuready::pack
