// Archives that exist, made into variants: what is declared of them, and what a failing disk
// leaves.
#include "pack/release/adopt.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "doubles/failing_storage.h"
#include "unit/products/pack/workshop.h"

namespace gpuready::pack {
namespace {

TEST(Adopt, VariantsAreNamedByTheirFiles) {
  const auto named = [](std::string_view text) {
    const auto package = parse_existing_package(text);
    return package ? package->variant + " " + package->path : "";
  };
  EXPECT_EQ(named("cuda-libs-legacy.tar.gz"), "legacy cuda-libs-legacy.tar.gz");
  EXPECT_EQ(named("some/gpu_modern.tgz"), "modern some/gpu_modern.tgz");
  EXPECT_EQ(named("latest.zip"), "latest latest.zip");
  EXPECT_EQ(named("old=x/y.tar.xz"), "old x/y.tar.xz");
  EXPECT_EQ(named("../x="), "");
  EXPECT_EQ(named("libs-.tar.gz"), "");
}

std::string archives_of(const std::vector<std::string>& texts,
                        const std::vector<std::string>& variants) {
  Recipe recipe;
  for (const auto& name : variants) recipe.variants.emplace_back().name = name;
  const auto packages = parse_existing_packages(texts, recipe, "pack.toml");
  if (!packages) return packages.error().message;
  std::string all;
  for (const auto& each : *packages) all += each.variant + "=" + each.path + ";";
  return all;
}

TEST(Adopt, EachVariantHasOneArchive) {
  EXPECT_EQ(archives_of({"l-b.zip", "a=x.zip"}, {}), "b=l-b.zip;a=x.zip;") << "in their order";
  EXPECT_EQ(archives_of({"l-a.zip", "l-b.zip"}, {"b"}), "a=l-a.zip;b=l-b.zip;")
      << "one that the recipe does not name is taken, too";
  EXPECT_EQ(archives_of({"l-a.zip", "a=x.zip"}, {"a"}),
            "two archives are the variant a: write VARIANT=FILE");
  EXPECT_EQ(archives_of({"l-a.zip"}, {"a", "b", "c"}),
            "pack.toml: the archive of variant b is missing");
  EXPECT_EQ(archives_of({}, {}), "");
  const auto wrong = parse_existing_package("../x=");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(archives_of({"l-a.zip", "../x="}, {}), wrong.error().message);
}

std::string adopted(const std::optional<Recipe>& recipe, const AdoptedRelease& named) {
  const auto made = adopted_recipe(recipe, named);
  if (!made) return made.error().message;
  std::string waivers;
  for (const auto& waiver : made->waivers) waivers += waiver.file + "=" + waiver.reason + ";";
  return fmt::format("{} {} [{}] [{}]", made->name, made->version,
                     join(made->system_libraries, ","), waivers);
}

TEST(Adopt, OptionsGoBeforeTheRecipeAndAddToIt) {
  Recipe recipe;
  recipe.name = "libs";
  recipe.version = "1.0";
  recipe.system_libraries = {"libm.so.6"};
  recipe.waivers = {{"a", "old"}};
  EXPECT_EQ(adopted(recipe, {}), "libs 1.0 [libm.so.6] [a=old;]");
  EXPECT_EQ(adopted(recipe, {"other", {}, {}, {}}), "other 1.0 [libm.so.6] [a=old;]");
  EXPECT_EQ(adopted(recipe, {{}, "2.0", {}, {}}), "libs 2.0 [libm.so.6] [a=old;]");
  EXPECT_EQ(adopted(recipe, {{}, {}, {"libz.so.1"}, {"b=the machine has it"}}),
            "libs 1.0 [libm.so.6,libz.so.1] [a=old;b=the machine has it;]");
}

TEST(Adopt, WithoutARecipeNameAndVersionAreNamed) {
  const std::string both = "name a --recipe, or --name and --version";
  EXPECT_EQ(adopted({}, {}), both);
  EXPECT_EQ(adopted({}, {"libs", {}, {}, {}}), both);
  EXPECT_EQ(adopted({}, {{}, "1.0", {}, {}}), both);
  EXPECT_EQ(adopted({}, {"libs", "1.0", {"libz.so.1"}, {}}), "libs 1.0 [libz.so.1] []");
}

TEST(Adopt, WhatTheOptionsNameIsChecked) {
  EXPECT_EQ(adopted({}, {"../libs", "1.0", {}, {}}),
            "--name ../libs: " + wrong_with_name("../libs").value_or("?"));
  EXPECT_EQ(adopted({}, {"libs", "new", {}, {}}), "--version new: a version is digits and dots");
  EXPECT_EQ(adopted({}, {"libs", "1.0", {}, {"no reason"}}), error_text(parse_waiver("no reason")));
  EXPECT_NE(error_text(parse_waiver("no reason")), "");
}

std::string declared(std::vector<std::vector<std::string>> files, const char* cudnn = nullptr) {
  Variant variant;
  variant.name = "x";
  for (auto& targets : files)
    variant.code.push_back({"f" + std::to_string(variant.code.size()), {{std::move(targets)}}, {}});
  if (cudnn != nullptr) variant.floors.cudnn = cudnn;
  const auto found = architectures_of_code(variant);
  if (!found) return "none";
  variant.architectures = *found;
  EXPECT_EQ(join(declared_beside_scanned(variant), "; "), "") << "what is declared is accepted";
  return join(*found, " ");
}

// The expected answers are NVIDIA's rules: see can_load_test.cc.
TEST(Adopt, DeclaresWhatAllFilesLoadOn) {
  EXPECT_EQ(declared({}), "");
  EXPECT_EQ(declared({{"sm_50", "sm_60"}}), "50 60");
  EXPECT_EQ(declared({{"sm_86", "compute_86@7.1"}}), "86+PTX");
  EXPECT_EQ(declared({{"compute_75@6.3"}}), "75-virtual");
  EXPECT_EQ(declared({{"sm_90a"}}), "90a");
  EXPECT_EQ(declared({{"sm_50", "sm_86"}, {"sm_80"}}), "86");  // 80 has no code in the first
  EXPECT_EQ(declared({{"compute_50@6.0"}, {"sm_75", "sm_90"}}), "75 90");
  EXPECT_EQ(declared({{"sm_90"}, {"sm_75"}}), "none");
  EXPECT_EQ(declared({{"gfx942"}}), "none");
  EXPECT_EQ(declared({{"sm_50", "sm_75"}}, "9.15"), "75");  // cuDNN 9.11 and newer begin at 7.5
}

TEST(Adopt, TwoVariantsOfTheSameFilesAreAMistake) {
  if (std::system("command -v tar >/dev/null") != 0) GTEST_SKIP() << "no tar";
  Workshop shop;
  write_text(shop.root + "/in/data", noise(5000, 1));
  for (const char* name : {"/libs-a.tar.gz", "/libs-b.tar.gz"})
    ASSERT_EQ(
        std::system(("tar czf " + shop.root + name + " -C " + shop.root + "/in data").c_str()), 0);
  Recipe recipe;
  recipe.name = "libs", recipe.version = "1";
  AdoptOptions options;
  options.work_folder = shop.root + "/.work";
  options.build.level = 1;
  options.build.scan = [](const auto&) { return Inspection(); };
  const auto done =
      adopt(*shop.host, recipe,
            {{"a", shop.root + "/libs-a.tar.gz"}, {"b", shop.root + "/libs-b.tar.gz"}}, options,
            [](const std::string&) -> Result<void> { return {}; });
  EXPECT_NE(error_text(done).find("libs-b.tar.gz: it holds the same files as variant a"),
            std::string::npos)
      << error_text(done);
}

// Compressing takes minutes, and a refusal throws it away.
TEST(Adopt, NothingIsCompressedWhereAVariantIsRefused) {
  if (std::system("command -v tar >/dev/null") != 0) GTEST_SKIP() << "no tar";
  Workshop shop;
  for (const char* name : {"good", "bad"}) {
    const std::string folder = shop.root + "/" + name;
    write_text(folder + "/data", noise(5000, 1));
    ASSERT_EQ(std::system(("tar czf " + folder + ".tar.gz -C " + folder + " data").c_str()), 0);
  }
  Recipe recipe;
  recipe.name = "libs", recipe.version = "1";
  AdoptOptions options;
  options.work_folder = shop.root + "/.work";
  std::vector<std::string> steps;
  std::string now;
  options.build.progress = [&](const std::string& variant, const std::string& what) {
    steps.push_back(what);
    now = variant;
  };
  options.build.scan = [&](const auto&) {
    Inspection found;
    for (int i = 0; now == "bad" && i < 5; ++i) {
      auto& file = found.files.emplace_back();
      file.path = "lib" + std::to_string(i) + ".so";
      file.elf = ElfFacts{};
      file.elf->needed = {"libgone.so.1"};
    }
    return found;
  };
  const auto done =
      adopt(*shop.host, recipe,
            {{"good", shop.root + "/good.tar.gz"}, {"bad", shop.root + "/bad.tar.gz"}}, options,
            [](const std::string&) -> Result<void> { return {}; });
  EXPECT_NE(error_text(done).find("variant bad: lib0.so, lib1.so, lib2.so and 2 more: it needs "
                                  "libgone.so.1, which is not in the folder"),
            std::string::npos)
      << error_text(done);
  EXPECT_EQ(std::ranges::count(steps, "compressing"), 0);
  // What was unpacked is used again, and nothing of it stays once the release is published.
  EXPECT_TRUE(std::filesystem::exists(options.work_folder + "/bad/files/data"));
  recipe.variants.clear();
  recipe.waivers = {{"lib[0-9].so", "no pattern of this kind"}, {"lib*.so", "tests"}};
  steps.clear();
  EXPECT_TRUE(adopt(*shop.host, recipe, {{"bad", shop.root + "/bad.tar.gz"}}, options,
                    [&](const std::string& built) -> Result<void> {
                      const auto variant = read_variant(*shop.host, built, "bad");
                      EXPECT_EQ(variant->gaps, std::vector<std::string>());
                      EXPECT_EQ(variant->waived.size(), 1u);
                      EXPECT_TRUE(variant->waived.at(0).ends_with("(accepted: tests)"));
                      return {};
                    }));
  EXPECT_EQ(std::ranges::count(steps, "compressing"), 1);
  EXPECT_EQ(std::ranges::count(steps, "unpacking"), 0);
  EXPECT_FALSE(std::filesystem::exists(options.work_folder));
}

// Zeros compress to a thousandth; a small archive of them does not fill a disk.
TEST(Adopt, WhatUnpacksToManyTimesItsSizeIsRefusedAbove64MiB) {
  if (std::system("command -v tar >/dev/null") != 0) GTEST_SKIP() << "no tar";
  Workshop shop;
  const auto error = [&](std::uintmax_t bytes, const std::string& how) {
    write_text(shop.root + "/in/data", "");
    std::filesystem::resize_file(shop.root + "/in/data", bytes);
    const auto archive = shop.root + "/x.tar", to = shop.root + "/out";
    EXPECT_EQ(std::system(fmt::format("tar {} {} -C {}/in data", how, archive, shop.root).c_str()),
              0);
    const auto done = unpack_archive(*shop.host, archive, to, live_storage());
    std::filesystem::remove_all(to);
    const auto text = error_text(done);
    return text.starts_with(archive + ": ") ? text.substr(archive.size() + 2) : text;
  };
  constexpr std::uintmax_t kFree = 64u << 20;
  EXPECT_EQ(error(kFree, "czf"), "");
  EXPECT_EQ(error(kFree + 1, "czf"), "data: the archive unpacks to more than 200 times its size");
  EXPECT_EQ(error(kFree + 1, "cf"), "") << "not compressed";
}

TEST(Adopt, FailingDiskLeavesNoHalfRelease) {
  if (std::system("command -v tar >/dev/null") != 0) GTEST_SKIP() << "no tar";
  Workshop shop;
  write_text(shop.root + "/in/lib/data", noise(5000, 1));
  std::filesystem::create_symlink("data", shop.root + "/in/lib/link");
  const auto archive = shop.root + "/libs-cpu.tar.gz", out = shop.root + "/release";
  ASSERT_EQ(std::system(("tar czf " + archive + " -C " + shop.root + "/in lib").c_str()), 0);
  const auto adopt_into = [&](Storage& storage) {
    std::filesystem::create_directories(out);
    Recipe recipe;
    recipe.name = "libs";
    recipe.version = "1";
    AdoptOptions options;
    options.work_folder = out + "/.work";
    options.build.level = 1;
    options.build.scan = [](const auto&) { return Inspection(); };
    options.build.storage = &storage;
    return adopt(*shop.host, recipe, {{"cpu", archive}}, options,
                 [&](const std::string& built) -> Result<void> {
                   PublishOptions how;
                   how.built_folder = built;
                   how.out_folder = out;
                   how.now_unix_seconds = shop.host->identity()->unix_seconds;
                   how.storage = &storage;
                   TRY(publish(*shop.host, recipe, shop.key, how));
                   return {};
                 });
  };
  FailingStorage count(live_storage(), {}, {});
  ASSERT_EQ(error_text(adopt_into(count)), "");
  ASSERT_GT(count.calls(), 20u);
  for (const auto kind : {StorageFault::Kind::once, StorageFault::Kind::killed})
    for (std::size_t at = 1; at <= count.calls(); ++at) {
      SCOPED_TRACE("call " + std::to_string(at));
      std::filesystem::remove_all(out);
      FailingStorage failing(live_storage(), {at, kind, ENOSPC}, {});
      (void)adopt_into(failing);
      const bool published = std::filesystem::exists(out + "/manifest.json.minisig");
      if (!published) {
        ASSERT_EQ(error_text(adopt_into(live_storage())), "");
        EXPECT_FALSE(std::filesystem::exists(out + "/.work"));
      }
      std::filesystem::remove_all(shop.root + "/store");
      const auto installed = shop.install("cpu", shop.options());
      ASSERT_EQ(installed.end, InstallEnd::installed) << installed.error->message;
      EXPECT_TRUE(shop.installed("lib/link") == noise(5000, 1));
    }
}

}  // namespace
}  // namespace gpuready::pack
