#include "pack/release/recipe.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace gpuready::pack {
namespace {

Result<Recipe> parsed(std::string_view text) { return parse_recipe(text, "pack.toml", "/work"); }
std::string error_of(const auto& result) { return result ? "" : result.error().message; }

TEST(Recipe, ReadsAllThatItKnows) {
  const auto recipe = parsed(R"(
    name = "libs"
    version = "1.2.0"
    expires_days = 90
    folder = "out/{variant}"
    build = ["make", "libs"]
    include = ["lib/**"]
    [floors]
    glibc = "2.28"
    [variants.modern]
    architectures = ["75", "8.0", "90a", "90+PTX"]
    floors.driver = "525.60.13"
    [variants.cpu]
    folder = "/cpu"
    build = []
    [[models]]
    name = "large"
    free_mb = 6000
  )");
  ASSERT_TRUE(recipe) << error_of(recipe);
  ASSERT_EQ(recipe->variants.size(), 2u);
  const auto& cpu = recipe->variants[0];  // toml++ sorts
  const auto& modern = recipe->variants[1];
  EXPECT_EQ(modern.name, "modern");
  EXPECT_EQ(modern.folder, "/work/out/modern");
  EXPECT_EQ(modern.command, (std::vector<std::string>{"make", "libs"}));
  EXPECT_EQ(modern.floors.driver, "525.60.13");
  EXPECT_EQ(modern.floors.glibc, "2.28");
  EXPECT_EQ(cpu.folder, "/cpu");
  EXPECT_TRUE(cpu.command.empty());
  EXPECT_FALSE(cpu.floors.driver);
  EXPECT_EQ(recipe->models.at(0).free_bytes, std::uint64_t{6000} << 20);
  EXPECT_EQ(recipe->expires_days, 90u);
}

TEST(Recipe, PresetLeavesNoGap) {
  const auto recipe = parsed("name = 'x'\nversion = '1'\npreset = 'legacy-modern-latest'\n");
  ASSERT_TRUE(recipe) << error_of(recipe);
  ASSERT_EQ(recipe->variants.size(), 3u);
  // Every compute capability from 5.0 on that NVIDIA has named for its GPUs.
  for (const std::string_view capability :
       {"50", "52", "53", "60", "61", "62",  "70",  "72",  "75",  "80",
        "86", "87", "88", "89", "90", "100", "103", "110", "120", "121"}) {
    int variants = 0;
    for (const auto& variant : recipe->variants)
      variants += std::ranges::any_of(variant.architectures, [&](const auto& text) {
        return text.substr(0, text.find('+')) == capability;
      });
    EXPECT_EQ(variants, 1) << capability;
  }
  for (const auto& variant : recipe->variants)
    EXPECT_TRUE(compilers_of(variant.architectures)) << variant.name;
}

TEST(Recipe, SaysWhatIsWrongAndWhere) {
  const std::pair<const char*, const char*> cases[] = {
      {"name = 'x'\nversion = '1'\n[variants.a]\narchitecture = ['80']",
       "variants.a.architecture is not known here"},
      {"name = 'x'\nversion = '1'\nfolders = 1\n[variants.a]", "folders is not known here"},
      {"name = 'x/y'\nversion = '1'\n[variants.a]", "name is wrong"},
      {"name = 'x'\nversion = '1.0-rc1'\n[variants.a]", "version is not made of digits and dots"},
      {"name = 'x'\nversion = 1.2\n[variants.a]", "version is not a text"},
      {"name = 'x'\nversion = '1'\n", "variants are missing"},
      {"name = 'x'\nversion = '1'\n[variants.a]\narchitectures = ['hopper']",
       "hopper is not a compute capability"},
      {"name = 'x'\nversion = '1'\n[variants.a]\narchitectures = ['80+JIT']",
       "80+JIT is not a compute capability"},
      {"name = \n", "line 1"},
  };
  for (const auto& [text, wanted] : cases)
    EXPECT_NE(error_of(parsed(text)).find(wanted), std::string::npos)
        << text << " -> " << error_of(parsed(text));
}

// What nobody would look at, or what contradicts something else.
TEST(Recipe, WhatHasNoEffectIsRefused) {
  const std::string gpu = "[variants.gpu]\narchitectures = ['80']\n", cpu = "[variants.cpu]\n";
  const std::string probe = "[[probes]]\nfile = 'f'\nkernel = 'k'\n";
  const std::string model = "[[models]]\nname = 'a'\n", load = "load = ['bin/l']\n";
  const std::pair<std::string, const char*> cases[] = {
      {cpu + probe, "probes are launched by variants with architectures, and there is none"},
      {gpu + cpu + probe + "variants = ['cpu']\n", "variant cpu has no architectures"},
      {gpu + probe + probe, "kernel k is there twice"},
      {gpu + model + load + model + load, "a is there twice"},
      {gpu + model + "[[models]]\nname = 'b'\n", "b is never chosen: a before it"},
      {gpu + model + "[[models]]\nname = 'b'\nfree_mb = 5\n", "b is never chosen"},
      {gpu + model + "load = []\n", "load names no program"},
      {gpu + model + "seconds = 5\n", "seconds is for a model with `load`"},
      {gpu + model + "memory_mb = 5\n", "memory_mb is for a model with `load`"},
      {gpu + model + load + "seconds = 0\n", "seconds is not from 1 to"},
      {gpu + model + load + "seconds = 90000\n", "seconds is not from 1 to"},
      {gpu + model + "free_mb = 9000000000000\n", "free_mb is more than"},
      {gpu + model + load + "memory_mb = 9000000000000\n", "memory_mb is more than"},
      {"[variants.a]\narchitectures = ['80', '8.0']\n", "8.0 is there twice"},
      {"[variants.a]\narchitectures = ['80', '80+PTX']\n", "80+PTX is there twice"},
      {gpu + "floors.cpu = 'fast'\n", "cpu is not one of x86-64, x86-64-v2"},
      {cpu + "floors.driver = '550'\n", "floors.driver is of a variant without architectures"},
      {cpu + "floors.cudnn = '9.1'\n", "floors.cudnn is of a variant without architectures"},
      {gpu + "folder = 'x'\n" + cpu + "folder = 'x'\n", "variants cpu and gpu hold the same files"},
      {gpu + "[[machines]]\nname = 'm'\ngpus = ['8.0']\n[[machines]]\nname = 'm'\n",
       "machines: m is there twice"},
      {gpu + "[[machines]]\nname = 'm'\ndriver = '550'\n", "m names a driver and no GPU"},
      {"system_libraries = ['/usr/lib/libx.so']\n" + gpu, "is not the name of a library"},
      {"expires_days = 0\n" + gpu, "expires_days is not from 1 to"},
      {"expires_days = 99999999\n" + gpu, "expires_days is not from 1 to"},
  };
  for (const auto& [text, wanted] : cases) {
    const auto result = parsed("name = 'x'\nversion = '1'\n" + text);
    EXPECT_NE(error_of(result).find(wanted), std::string::npos)
        << text << " -> " << error_of(result);
  }
}

TEST(Recipe, WhatOnlyLooksLikeThatIsAccepted) {
  const auto recipe = parsed(R"(
    name = "x"
    version = "1"
    folder = "out"
    floors.driver = "550"
    [variants.gpu]
    architectures = ["80", "80a", "90"]
    include = ["gpu/**"]
    [variants.cpu]
    include = ["cpu/**"]
    [[models]]
    name = "small first, but it may not load"
    free_mb = 5
    load = ["bin/l"]
    [[models]]
    name = "large"
    free_mb = 50
    [[models]]
    name = "any"
    [[machines]]
    name = "two"
    gpus = ["8.0", "8.0"]
    [[probes]]
    file = "f"
    kernel = "k"
    arguments = [{ u32 = 1 }]
    [[probes]]
    file = "f"
    kernel = "k"
    arguments = [{ u32 = 2 }]
  )");
  ASSERT_TRUE(recipe) << error_of(recipe);
  EXPECT_EQ(recipe->variants[1].floors.driver, "550");
  EXPECT_FALSE(recipe->variants[0].floors.driver);  // the CPU's needs none
  EXPECT_EQ(recipe->variants[1].probes.size(), 2u);
}

TEST(Recipe, AModelsMemoryIsFromOneMegabyte) {
  const auto error = [](std::string_view mb) {
    return error_of(
        parsed(fmt::format("name = 'x'\nversion = '1'\n[variants.gpu]\n"
                           "architectures = ['80']\n[[models]]\nname = 'a'\n"
                           "load = ['bin/l']\nmemory_mb = {}\n",
                           mb)));
  };
  EXPECT_TRUE(error("0").ends_with("memory_mb is 0: no program runs in that")) << error("0");
  EXPECT_EQ(error("1"), "");
  EXPECT_EQ(error("1073741824"), "");
  EXPECT_TRUE(error("1073741825").ends_with("memory_mb is more than 1073741824"))
      << error("1073741825");
}

TEST(Recipe, AProbesNumbersHave32Bits) {
  const auto error = [](std::string_view argument) {
    return error_of(
        parsed(fmt::format("name = 'x'\nversion = '1'\n[variants.gpu]\n"
                           "architectures = ['80']\n[[probes]]\nfile = 'f'\n"
                           "kernel = 'k'\narguments = [{{ {} }}]\n",
                           argument)));
  };
  for (const char* good :
       {"u32 = 4294967295", "u64 = 4294967296", "words = [-2147483648, 4294967295]"})
    EXPECT_EQ(error(good), "") << good;
  const std::string words = "words holds a number that has no 32 bits";
  EXPECT_TRUE(error("u32 = 4294967296").ends_with("u32 has more than 32 bits"))
      << error("u32 = 4294967296");
  EXPECT_TRUE(error("words = [-2147483649]").ends_with(words)) << error("words = [-2147483649]");
  EXPECT_TRUE(error("words = [4294967296]").ends_with(words)) << error("words = [4294967296]");
}

TEST(Recipe, ListsOfOtherThingsThanTablesAreRefused) {
  for (const char* wrong :
       {"models = [3]", "models = ['x']", "models = [[]]", "models = [{name='a'}, 3]",
        "machines = [1]", "probes = [1.5]", "probes = [{file='f', kernel='k', arguments=[5]}]"}) {
    const std::string text = std::string("name = 'a'\nversion = '1'\n") + wrong;
    EXPECT_FALSE(parsed(text + "\n[variants.a]\narchitectures = ['80']\n")) << wrong;
  }
}

// Each would end the program in the parser's own assertions.
TEST(Recipe, WhatTheParserTakesForImpossibleIsRefused) {
  for (const char* line : {"[[[a]]]", "[=]", "[[.a]]", "[", "[[", "[ [[a]]", "\xc3\xa4 = 1",
                           "a \xd1\xa7= 1", "[a\xc3\xa4]", "a = [\n1, \xc3\xa4]"}) {
    const auto recipe = parsed(std::string("name = \"libs\"\n") + line);
    ASSERT_FALSE(recipe) << line;
    EXPECT_EQ(recipe.error().message.find("pack.toml: line "), 0u) << recipe.error().message;
  }
}
TEST(Recipe, StringsCommentsAndArraysHoldWhatTheyLike) {
  const auto recipe = parsed(R"(# Grüße [[[
    name = "libs"
    version = "1.2.0"  # für alle
    folder = 'äußeres/{variant}'
    build = ["sh", "-c", """
[[[ -d out ]]] || echo "ü" \"
[=] '''
"""]
    include = [
      "lib/**",
      "[a]"
    ]
    [variants.cpu]
  )");
  EXPECT_TRUE(recipe) << recipe.error().message;
}

TEST(Recipe, ArchitecturesInTheFormsOfBuildSystems) {
  EXPECT_EQ(forms_of({"50-virtual"}).gencode, "-gencode=arch=compute_50,code=compute_50");
  EXPECT_EQ(forms_of({"50-virtual"}).cmake, "50-virtual");
  const auto forms = forms_of({"75", "90a", "121+PTX"});
  EXPECT_EQ(forms.cmake, "75-real;90a-real;121");
  EXPECT_EQ(forms.torch, "7.5;9.0a;12.1+PTX");
  EXPECT_EQ(forms.gencode,
            "-gencode=arch=compute_75,code=sm_75 -gencode=arch=compute_90a,code=sm_90a "
            "-gencode=arch=compute_121,code=[sm_121,compute_121]");
}

TEST(Recipe, KnowsWhichToolkitsCompileIt) {
  const auto between = [](std::vector<std::string> list) {
    const auto releases = compilers_of(list);
    if (!releases) return std::string("none");
    const auto text = [](const Version& version) {
      return std::to_string(version.parts[0]) + "." + std::to_string(version.parts[1]);
    };
    return text(releases->from) + "-" + (releases->to ? text(*releases->to) : "");
  };
  EXPECT_EQ(between({"50", "120"}), "12.8-12.9");
  EXPECT_EQ(between({"75", "90"}), "11.8-");
  EXPECT_EQ(between({"90a"}), "12.0-");
  EXPECT_EQ(between({"100f"}), "12.9-");
  EXPECT_EQ(between({"50", "110"}), "none");
  EXPECT_EQ(between({"99"}), "none");
}

// toml++ takes a quote within a word for a part of it, and wants a digit after a date and a value
// in brackets.
TEST(Recipe, WhatTomlPlusPlusCannotReadIsNamed) {
  for (const char* text : {"name = 2026-11-22Tx0:00\n", "name = [[}\n", "name = 6\"\u023e\"\n",
                           "name = 6\"l\u023e\n", "name = \"x\n", "name = 'x"}) {
    const auto parsed = parse_recipe(text, "pack.toml", "/");
    ASSERT_FALSE(parsed) << text;
    EXPECT_TRUE(contains(parsed.error().message, "pack.toml: line 1: a "))
        << parsed.error().message;
  }
}

TEST(Recipe, VariantsAreChosenByNameInTheRecipesOrder) {
  Recipe recipe;
  for (const char* name : {"modern", "legacy", "cpu"}) recipe.variants.emplace_back().name = name;
  const auto chosen = [&](const std::vector<std::string>& names) {
    const auto variants = variants_named(recipe, names, "pack.toml");
    if (!variants) return variants.error().message;
    std::string all;
    for (const auto& variant : *variants) all += variant.name + " ";
    return all;
  };
  EXPECT_EQ(chosen({}), "modern legacy cpu ");
  EXPECT_EQ(chosen({"cpu", "modern"}), "modern cpu ");
  EXPECT_EQ(chosen({"legacy", "legacy"}), "legacy ");
  EXPECT_EQ(chosen({"cpu", "latest"}), "pack.toml has no variant latest");
}

TEST(Recipe, PatternsOfPaths) {
  EXPECT_TRUE(matches("lib/**", "lib/a/b.so"));
  EXPECT_TRUE(matches("**/x.so", "x.so"));
  EXPECT_TRUE(matches("**/x.so", "a/b/x.so"));
  EXPECT_TRUE(matches("lib*/*.so*", "lib64/a.so.1"));
  EXPECT_FALSE(matches("lib/*", "lib/a/b"));
  EXPECT_FALSE(matches("*.so", "a/b.so"));
  EXPECT_TRUE(matches("**.so", "a/b.so"));
  EXPECT_TRUE(matches("a?c", "abc"));
  EXPECT_FALSE(matches("a?c", "a/c"));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_TRUE(matches("**", ""));
  EXPECT_FALSE(matches(std::string(60, '*') + "b", std::string(2000, 'a')));
}

}  // namespace
}  // namespace gpuready::pack
