#include "pack/release/recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>

#include "machine/nvidia/architectures.h"
#include "pack/release/recipe_check.h"
#include "pack/rules/can_load.h"
#include "value/toml_reader.h"
#include "value/toml_text.h"

namespace gpuready::pack {
namespace {

// [[probes]] of a recipe.
struct ProbeOfVariants {
  Probe probe;
  std::vector<std::string> variants;
};

// Words of 32 bits: what an int or an unsigned holds.
std::vector<std::uint32_t> read_words(TomlReader& reader, std::string_view key) {
  std::vector<std::uint32_t> words;
  for (const auto number : reader.numbers(key)) {
    if (number < std::numeric_limits<std::int32_t>::min() ||
        number > std::numeric_limits<std::uint32_t>::max())
      reader.wrong(key, "holds a number that has no 32 bits");
    words.push_back(static_cast<std::uint32_t>(number));
  }
  return words;
}

ProbeArgument read_argument(TomlReader& reader) {
  ProbeArgument argument;
  if (reader.has("words")) argument.words = read_words(reader, "words");
  if (reader.has("expect")) argument.expect = read_words(reader, "expect");
  if (const auto number = reader.count("u32")) {
    if (*number > std::numeric_limits<std::uint32_t>::max())
      reader.wrong("u32", "has more than 32 bits");
    argument.u32 = static_cast<std::uint32_t>(*number);
  }
  argument.u64 = reader.count("u64");
  return argument;
}

std::uint32_t small_count(TomlReader& reader, std::string_view key) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(reader.count(key).value_or(1), std::numeric_limits<int>::max()));
}

ProbeOfVariants read_probe(TomlReader& reader) {
  ProbeOfVariants read;
  auto& probe = read.probe;
  read.variants = reader.texts("variants");
  probe.file = reader.text("file").value_or("");
  probe.kernel = reader.text("kernel").value_or("");
  if (probe.file.empty()) reader.wrong("file", "is missing");
  probe.blocks = small_count(reader, "blocks");
  probe.threads = small_count(reader, "threads");
  if (const auto* arguments = reader.tables("arguments"))
    for (const auto& node : *arguments) {
      TomlReader one(*node.as_table(), "");
      probe.arguments.push_back(read_argument(one));
      if (const auto wrong = one.problem(); !wrong.empty())
        reader.wrong("arguments", "are wrong: " + wrong);
    }
  if (const auto wrong = wrong_with_probe(probe))
    reader.wrong("kernel", fmt::format("{}: {}", probe.kernel, *wrong));
  return read;
}

// Gives each probe to the variants that it names, else to all that are for GPUs.
Result<void> read_probes(TomlReader& top, Recipe& recipe, std::string_view name) {
  for (const auto& [probe, variants] :
       TRY(read_list<ProbeOfVariants>(top, "probes", name, read_probe))) {
    for (const auto& variant : variants)
      if (std::ranges::find(recipe.variants, variant, &VariantRecipe::name) ==
          recipe.variants.end())
        top.wrong("probes", "name no variant of this recipe: " + variant);
    if (variants.empty() && std::ranges::all_of(recipe.variants, [](const VariantRecipe& variant) {
          return variant.architectures.empty();
        }))
      top.wrong("probes", "are launched by variants with architectures, and there is none");
    for (auto& variant : recipe.variants)
      if (variants.empty() ? !variant.architectures.empty()
                           : std::ranges::find(variants, variant.name) != variants.end())
        variant.probes.push_back(probe);
  }
  return {};
}

constexpr unsigned kMostDays = 36'500;

struct Preset {
  const char* name;
  std::vector<std::string> architectures;
};
// Every compute capability from 5.0 on has a variant with code for it, and the last has PTX for
// those to come.
const std::vector<Preset>& legacy_modern_latest() {
  static const std::vector<Preset> presets = {
      {"legacy", {"50", "52", "53", "60", "61", "62", "70", "72"}},
      {"modern", {"75", "80", "86", "87", "88"}},
      {"latest", {"89", "90", "100", "103", "110", "120", "121+PTX"}},
  };
  return presets;
}

// As `pack select` names the machine's.
constexpr std::string_view kCpus[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"};
// What a variant for the CPU does not need.
constexpr const char* kFloorsOfGpus[] = {"driver", "cuda", "cudnn"};

Result<Floors> read_floors(const toml::table* table, const std::string& where,
                           std::string_view name, Floors floors) {
  if (table == nullptr) return floors;
  TomlReader reader(*table, where + "floors.");
  const std::pair<const char*, std::optional<std::string>*> all[] = {{"driver", &floors.driver},
                                                                     {"cuda", &floors.cuda},
                                                                     {"cudnn", &floors.cudnn},
                                                                     {"glibc", &floors.glibc}};
  for (const auto& [key, floor] : all) {
    if (const auto text = reader.text(key)) {
      if (!parse_version(*text)) reader.wrong(key, "is not a version");
      *floor = *text;
    }
  }
  if (const auto cpu = reader.text("cpu")) {
    if (std::ranges::find(kCpus, *cpu) == std::end(kCpus))
      reader.wrong("cpu", fmt::format("is not one of {}", fmt::join(kCpus, ", ")));
    floors.cpu = *cpu;
  }
  TRY(reader.finish(name));
  return floors;
}

std::uint64_t bytes_of_mb(TomlReader& reader, std::string_view key, std::uint64_t mb) {
  constexpr std::uint64_t kMostMb = 1u << 30;
  if (mb > kMostMb) reader.wrong(key, fmt::format("is more than {}", kMostMb));
  return std::min(mb, kMostMb) << 20;
}

Model read_model(TomlReader& reader) {
  Model model;
  model.name = reader.text("name").value_or("");
  model.free_bytes = bytes_of_mb(reader, "free_mb", reader.count("free_mb").value_or(0));
  model.load = reader.texts("load");
  if (reader.has("load") && model.load.empty()) reader.wrong("load", "names no program");
  for (const char* key : {"seconds", "memory_mb"})
    if (reader.has(key) && !reader.has("load")) reader.wrong(key, "is for a model with `load`");
  model.seconds = reader.count("seconds").value_or(kModelSeconds);
  if (model.seconds < 1 || model.seconds > kMostModelSeconds)
    reader.wrong("seconds", fmt::format("is not from 1 to {}", kMostModelSeconds));
  if (const auto mb = reader.count("memory_mb")) {
    model.memory_bytes = bytes_of_mb(reader, "memory_mb", *mb);
    if (*mb == 0) reader.wrong("memory_mb", "is 0: no program runs in that");
  }
  if (model.name.empty()) reader.wrong("name", "is missing");
  return model;
}

Waiver read_waiver(TomlReader& reader) {
  Waiver waiver{reader.text("file").value_or(""), reader.text("reason").value_or("")};
  if (waiver.file.empty()) reader.wrong("file", "is missing");
  if (trim(waiver.reason).empty()) reader.wrong("reason", "is missing");
  return waiver;
}

TestMachine read_machine(TomlReader& reader) {
  TestMachine machine;
  machine.name = reader.text("name").value_or("");
  machine.gpus = reader.texts("gpus");
  machine.driver = reader.text("driver");
  if (machine.name.empty()) reader.wrong("name", "is missing");
  for (const auto& gpu : machine.gpus)
    if (!parse_target_gpu(gpu)) reader.wrong("gpus", "names no GPU such as 8.6: " + gpu);
  if (machine.driver && !parse_version(*machine.driver))
    reader.wrong("driver", "is not a version such as 550 or 535.104.05");
  return machine;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

}  // namespace

std::optional<Architecture> parse_architecture(std::string_view text) {
  Architecture found;
  const auto plus = text.find_first_of("+-");
  if (plus != text.npos) {
    const auto form = to_lower(text.substr(plus));
    if (form != "+ptx" && form != "-real" && form != "-virtual") return std::nullopt;
    found.ptx = form != "-real";
    found.cubin = form != "-virtual";
  }
  const auto target = parse_cuda_target(text.substr(0, plus));
  if (!target) return std::nullopt;
  found.target = *target;
  return found;
}

Result<Waiver> parse_waiver(std::string_view text) {
  const auto equals = std::min(text.find('='), text.size());
  Waiver waiver{std::string(text.substr(0, equals)),
                std::string(trim(text.substr(std::min(equals + 1, text.size()))))};
  if (!waiver.file.empty() && !waiver.reason.empty()) return waiver;
  return fail(ErrorKind::bad_input,
              fmt::format("{}: write FILE=REASON, such as 'lib/libx.so=the machine has it'", text));
}

Result<Recipe> parse_recipe(std::string_view text, std::string_view name, const std::string& folder,
                            bool uses_folders) {
  TRY(check_toml_text(text, name));
  const auto parsed = toml::parse(text);
  if (!parsed)
    return fail(ErrorKind::bad_input,
                fmt::format("{}: line {}: {}", name, parsed.error().source().begin.line,
                            printable(parsed.error().description())));
  TomlReader top(parsed.table(), "");
  Recipe recipe;
  recipe.name = top.text("name").value_or("");
  recipe.version = top.text("version").value_or("");
  if (!top.has("name")) top.wrong("name", "is missing: add a line such as name = \"my-libs\"");
  if (!top.has("version"))
    top.wrong("version", "is missing: add a line such as version = \"1.0.0\"");
  if (const auto wrong = wrong_with_name(recipe.name)) top.wrong("name", "is wrong: " + *wrong);
  if (!parse_version(recipe.version)) top.wrong("version", "is not made of digits and dots");
  const auto days = top.count("expires_days").value_or(365);
  if (days < 1 || days > kMostDays)
    top.wrong("expires_days", fmt::format("is not from 1 to {}", kMostDays));
  recipe.expires_days = static_cast<unsigned>(std::min<std::uint64_t>(days, kMostDays));
  recipe.system_libraries = top.texts("system_libraries");
  const auto floors = TRY(read_floors(top.table("floors"), "", name, {}));
  const auto include = top.texts("include"), exclude = top.texts("exclude");
  const auto command = top.texts("build");
  const auto in_folder = top.text("folder").value_or("build/{variant}");

  VariantRecipe common;
  common.include = include, common.exclude = exclude, common.command = command;
  common.floors = floors;
  const auto preset = top.text("preset");
  if (preset && *preset != "legacy-modern-latest")
    top.wrong("preset", "is not known: there is legacy-modern-latest");
  if (preset)
    for (const auto& made : legacy_modern_latest()) {
      recipe.variants.push_back(common);
      recipe.variants.back().name = made.name;
      recipe.variants.back().architectures = made.architectures;
      recipe.variants.back().folder = in_folder;
    }
  if (const auto* variants = top.table("variants")) {
    for (const auto& [key, node] : *variants) {
      const std::string variant(key.str());
      const auto where = "variants." + variant + ".";
      const auto* table = node.as_table();
      if (table == nullptr) {
        top.wrong("variants." + variant, "is not a table");
        continue;
      }
      auto known = std::ranges::find(recipe.variants, variant, &VariantRecipe::name);
      if (known == recipe.variants.end()) {
        recipe.variants.push_back(common);
        known = std::prev(recipe.variants.end());
        known->name = variant;
        known->folder = in_folder;
      }
      TomlReader reader(*table, where);
      if (table->contains("architectures")) known->architectures = reader.texts("architectures");
      if (const auto own = reader.text("folder")) known->folder = *own;
      if (table->contains("build")) known->command = reader.texts("build");
      if (table->contains("include")) known->include = reader.texts("include");
      for (auto& pattern : reader.texts("exclude")) known->exclude.push_back(std::move(pattern));
      const auto* floors_of_it = reader.table("floors");
      known->floors = TRY(read_floors(floors_of_it, where, name, known->floors));
      for (const char* floor : kFloorsOfGpus)
        if (known->architectures.empty() && floors_of_it != nullptr &&
            floors_of_it->contains(floor))
          reader.wrong("floors." + std::string(floor),
                       "is of a variant without architectures, which needs no GPU");
      if (const auto wrong = wrong_with_name(variant)) reader.wrong("name", "is wrong: " + *wrong);
      TRY(reader.finish(name));
    }
  }
  recipe.models = TRY(read_list<Model>(top, "models", name, read_model));
  for (const auto& key : top.texts("report_keys")) {
    const auto trusted = parse_public_key(key, "report_keys");
    if (!trusted) top.wrong("report_keys", "is wrong: " + trusted.error().message);
    recipe.report_keys.push_back(trusted.value_or(PublicKey{}));
  }
  recipe.waivers = TRY(read_list<Waiver>(top, "waivers", name, read_waiver));
  recipe.machines = TRY(read_list<TestMachine>(top, "machines", name, read_machine));
  if (recipe.variants.empty()) top.wrong("variants", "are missing: name one, or a preset");
  TRY(read_probes(top, recipe, name));
  TRY(top.finish(name));
  for (auto& variant : recipe.variants) {
    variant.folder = replaced(variant.folder, "{variant}", variant.name);
    if (!variant.folder.starts_with('/')) variant.folder = folder + "/" + variant.folder;
    if (variant.architectures.empty())
      variant.floors.driver = variant.floors.cuda = variant.floors.cudnn = std::nullopt;
  }
  if (const auto wrong = wrong_with_recipe(recipe, uses_folders))
    return fail(ErrorKind::bad_input, fmt::format("{}: {}", name, printable(*wrong)));
  return recipe;
}

Result<std::vector<VariantRecipe>> variants_named(const Recipe& recipe,
                                                  const std::vector<std::string>& names,
                                                  const std::string& recipe_name) {
  for (const auto& name : names)
    if (std::ranges::find(recipe.variants, name, &VariantRecipe::name) == recipe.variants.end())
      return fail(ErrorKind::bad_input, fmt::format("{} has no variant {}", recipe_name, name));
  auto variants = recipe.variants;
  if (!names.empty())
    std::erase_if(variants, [&](const VariantRecipe& variant) {
      return std::ranges::find(names, variant.name) == names.end();
    });
  return variants;
}

ArchitectureForms forms_of(const std::vector<std::string>& architectures) {
  ArchitectureForms forms;
  for (const auto& text : architectures) {
    const auto architecture = parse_architecture(text);
    if (!architecture) continue;
    const auto number = architecture->target.number();
    const std::string_view separator = forms.cmake.empty() ? "" : ";";
    forms.cmake += fmt::format("{}{}{}", separator, number,
                               !architecture->cubin ? "-virtual"
                               : architecture->ptx  ? ""
                                                    : "-real");
    forms.torch += fmt::format(
        "{}{}{}{}", separator, architecture->target.capability(),
        architecture->target.suffix != 0 ? std::string(1, architecture->target.suffix) : "",
        architecture->ptx ? "+PTX" : "");
    forms.gencode +=
        fmt::format("{}-gencode=arch=compute_{},code=", forms.gencode.empty() ? "" : " ", number);
    forms.gencode += !architecture->cubin ? fmt::format("compute_{}", number)
                     : architecture->ptx  ? fmt::format("[sm_{0},compute_{0}]", number)
                                          : fmt::format("sm_{}", number);
  }
  return forms;
}

std::optional<CudaReleases> compilers_of(const std::vector<std::string>& architectures) {
  CudaReleases releases{{{0}}, std::nullopt};
  for (const auto& text : architectures) {
    const auto architecture = parse_architecture(text);
    const auto* known =
        architecture ? find_nvidia_architecture(architecture->target.capability()) : nullptr;
    if (known == nullptr) return std::nullopt;
    releases.from = std::max(releases.from, *parse_version(known->first_cuda));
    // Suffixes came later than the architectures: 90a with 12.0, those of families with 12.9.
    if (architecture->target.suffix == 'a')
      releases.from = std::max(releases.from, Version{{12, 0}});
    if (architecture->target.suffix == 'f')
      releases.from = std::max(releases.from, Version{{12, 9}});
    if (known->last_cuda.empty()) continue;
    const auto last = *parse_version(known->last_cuda);
    releases.to = releases.to ? std::min(*releases.to, last) : last;
  }
  if (releases.to && *releases.to < releases.from) return std::nullopt;
  return releases;
}

bool matches(std::string_view pattern, std::string_view path) {
  // Greedy with one place to come back to for `*` and one for `**`.
  std::size_t p = 0, t = 0, star = pattern.npos, star_text = 0, deep = pattern.npos, deep_text = 0;
  for (;;) {
    if (p < pattern.size() && pattern[p] == '*') {
      const bool two = pattern.substr(p, 2) == "**";
      p += two ? 2 : 1;
      if (two) {
        // "lib/**/x" also means lib/x.
        if (p < pattern.size() && pattern[p] == '/') ++p;
        deep = p, deep_text = t, star = pattern.npos;
      } else {
        star = p, star_text = t;
      }
      continue;
    }
    if (t < path.size() && p < pattern.size() &&
        (pattern[p] == path[t] || (pattern[p] == '?' && path[t] != '/'))) {
      ++p, ++t;
      continue;
    }
    if (p == pattern.size() && t == path.size()) return true;
    if (star != pattern.npos && star_text < path.size() && path[star_text] != '/') {
      p = star, t = ++star_text;
    } else if (deep != pattern.npos && deep_text < path.size()) {
      p = deep, t = ++deep_text, star = pattern.npos;
    } else {
      return false;
    }
  }
}

}  // namespace gpuready::pack
