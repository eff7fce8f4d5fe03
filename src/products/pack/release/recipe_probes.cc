#include "pack/release/recipe_probes.h"

#include <algorithm>
#include <limits>

namespace gpuready::pack {
namespace {

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

}  // namespace

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

}  // namespace gpuready::pack
