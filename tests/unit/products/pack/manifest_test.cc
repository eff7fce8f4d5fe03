#include "pack/release/manifest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace gpuready::pack {
namespace {

const std::string kHash(64, 'a');

Manifest good() {
  Manifest manifest{"libs", "1.2", "2026-03-01T12:00:00Z", "2027-03-01T12:00:00Z", {}, {}};
  Variant variant;
  variant.name = "modern";
  variant.architectures = {"80", "90+PTX"};
  variant.code = {
      {"lib/x.so", {{{"sm_80", "compute_90@8.4 zstd"}, 3}, {{"sm_70"}, 1, true}}, "12.8"}};
  variant.floors.driver = "550.1";
  variant.files = {{"lib/x.so", std::nullopt, 100, kHash, true, 0, 90},
                   {"lib/x.so.1", "x.so", 0, std::nullopt, false, 0, 0}};
  variant.archive = {{"libs-1.2-modern.tar.zst", 200, kHash}};
  manifest.variants = {variant};
  manifest.models = {{"large", std::uint64_t{6000} << 20}, {"small", 0}};
  return manifest;
}

std::string refusal(const std::function<void(Manifest&)>& change) {
  auto manifest = good();
  change(manifest);
  const auto parsed = parse_manifest(manifest_text(manifest), "m");
  return parsed ? "" : parsed.error().message;
}

TEST(PackManifest, ComesBackAsItWas) {
  const auto again = parse_manifest(manifest_text(good()), "m");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, good());
}

TEST(PackManifest, NothingLeavesItsFolder) {
  for (const std::string path : {"../x", "/etc/x", "a/../../x", "a//x", "./x", "x/", "x\\y", "a\nb",
                                 "", ".gpuready/current", "lib:/x", "a;b/x"})
    EXPECT_NE(refusal([&](Manifest& m) {
                m.variants[0].files[0].path = path;
                m.variants[0].code.clear();
              }),
              "")
        << path;
  for (const std::string link : {"/etc/passwd", "../../x", "..", "", "a/../../../x"})
    EXPECT_NE(refusal([&](Manifest& m) { m.variants[0].files[1].link = link; }), "") << link;
  for (const std::string name : {"../x", ".hidden", "a/b", "", "-x", "a b"}) {
    EXPECT_NE(refusal([&](Manifest& m) { m.name = name; }), "") << name;
    EXPECT_NE(refusal([&](Manifest& m) { m.variants[0].name = name; }), "") << name;
    EXPECT_NE(refusal([&](Manifest& m) { m.variants[0].archive[0].name = name; }), "") << name;
  }
}

TEST(PackManifest, AFileBelowALinkOrFileIsRefused) {
  EXPECT_NE(refusal([](Manifest& m) {
              m.variants[0].files[1] = {"lib/up", "..", 0, std::nullopt, false, 0, 0};
              m.variants[0].files.push_back({"lib/up/evil", std::nullopt, 1, kHash, false, 0, 1});
            }),
            "");
  EXPECT_NE(refusal([](Manifest& m) {
              m.variants[0].files.push_back({"lib/x.so/evil", std::nullopt, 1, kHash, false, 0, 1});
            }).find("lies below lib/x.so"),
            std::string::npos);
}

TEST(PackManifest, NumbersThatCannotBeAreRefused) {
  EXPECT_NE(refusal([](Manifest& m) { m.variants[0].files[0].frame_bytes = 201; }), "");
  EXPECT_NE(refusal([](Manifest& m) { m.variants[0].files[0].offset_bytes = UINT64_MAX; }), "");
  EXPECT_NE(refusal([](Manifest& m) { m.variants[0].files[0].size_bytes = UINT64_MAX; }), "");
  EXPECT_NE(refusal([](Manifest& m) { m.variants[0].archive[0].size_bytes = UINT64_MAX; }), "");
  constexpr auto kMost = std::uint64_t{1} << 50;  // no sum of 200,000 sizes overflows
  EXPECT_EQ(refusal([](Manifest& m) { m.variants[0].files[0].size_bytes = kMost; }), "");
  EXPECT_NE(refusal([](Manifest& m) { m.variants[0].files[0].size_bytes = kMost + 1; }), "");
  EXPECT_EQ(refusal([](Manifest& m) { m.variants[0].archive[0].size_bytes = kMost; }), "");
  EXPECT_NE(refusal([](Manifest& m) { m.variants[0].archive[0].size_bytes = kMost + 1; }), "");
  EXPECT_NE(refusal([](Manifest& m) { m.variants[0].files[0].sha256 = "AB"; }), "");
  EXPECT_NE(refusal([](Manifest& m) { m.variants[0].files[0].sha256.reset(); }), "");
}

TEST(PackManifest, FramesThatOverlapOrAreEmptyAreRefused) {
  const auto with_frame = [](std::uint64_t offset, std::uint64_t bytes) {
    return refusal([&](Manifest& m) {
      m.variants[0].files.push_back({"lib/y.so", std::nullopt, 1, kHash, false, offset, bytes});
    });
  };
  EXPECT_EQ(with_frame(90, 110), "");  // between the first frame's end and the archive's
  for (const auto& [offset, bytes] : {std::pair{0, 90}, {10, 10}, {89, 10}, {90, 0}})
    EXPECT_NE(with_frame(offset, bytes), "") << offset << " " << bytes;
  EXPECT_NE(with_frame(90, 111), "");
  EXPECT_NE(with_frame(200, 1), "");
}

TEST(PackManifest, DuplicatesAndGapsAreRefused) {
  EXPECT_NE(refusal([](Manifest& m) { m.variants.push_back(m.variants[0]); }), "");
  EXPECT_NE(refusal([](Manifest& m) { m.variants[0].files.push_back(m.variants[0].files[0]); }),
            "");
  EXPECT_NE(refusal([](Manifest& m) { m.variants[0].archive.push_back(m.variants[0].archive[0]); }),
            "");
  EXPECT_NE(refusal([](Manifest& m) { m.variants.clear(); }), "");
  EXPECT_NE(refusal([](Manifest& m) { m.version = "1.0-rc1"; }), "");
  EXPECT_NE(refusal([](Manifest& m) { m.expires_utc = "tomorrow"; }), "");
  EXPECT_NE(refusal([](Manifest& m) { m.variants[0].code[0].path = "lib/x.so.1"; }), "");
  EXPECT_NE(refusal([](Manifest& m) { m.variants[0].floors.driver = "new"; }), "");
  EXPECT_EQ(refusal([](Manifest&) {}), "");
}

TEST(PackManifest, MachinesHaveGpusAndDriversThatExist) {
  const auto with = [](const char* gpu, const char* driver) {
    return refusal([&](Manifest& m) {
      auto& machine = m.machines.emplace_back();
      machine.name = "new";
      machine.gpus = {gpu};
      machine.driver = driver;
    });
  };
  EXPECT_EQ(with("9.0", "580.65"), "");
  EXPECT_NE(with("the fast one", "580.65").find("the fast one is not a GPU"), std::string::npos);
  EXPECT_NE(with("9.0", "new").find("new is not a driver"), std::string::npos);
}

TEST(PackManifest, WhatIsRunIsOfTheVariantAndWithinBounds) {
  const auto with_probe = [](const std::function<void(Probe&)>& change) {
    return refusal([&](Manifest& m) {
      Probe probe;
      probe.file = "lib/x.so";
      probe.kernel = "k";
      probe.arguments.resize(1);
      probe.arguments[0].words = {1, 0xffffffff};
      change(probe);
      m.variants[0].probes = {probe};
    });
  };
  EXPECT_EQ(with_probe([](Probe&) {}), "");
  EXPECT_NE(with_probe([](Probe& p) { p.file = "lib/x.so.1"; }), "");
  EXPECT_NE(with_probe([](Probe& p) { p.file = "../x"; }), "");
  EXPECT_NE(with_probe([](Probe& p) { p.kernel = "a\nb"; }), "");
  EXPECT_NE(with_probe([](Probe& p) { p.blocks = 0; }), "");
  EXPECT_NE(with_probe([](Probe& p) { p.threads = 1025; }), "");
  EXPECT_NE(with_probe([](Probe& p) { p.arguments[0].u32 = 1; }), "");
  EXPECT_NE(with_probe([](Probe& p) { p.arguments[0] = {}; }), "");
  EXPECT_NE(with_probe([](Probe& p) { p.arguments.resize(65, p.arguments[0]); }), "");
  EXPECT_NE(with_probe([](Probe& p) { p.arguments[0].words->resize(65537); }), "");

  const auto with_model = [](const std::function<void(Model&)>& change) {
    return refusal([&](Manifest& m) {
      m.models[0].load = {"lib/x.so", "argument"};
      change(m.models[0]);
    });
  };
  EXPECT_EQ(with_model([](Model&) {}), "");
  EXPECT_NE(with_model([](Model& m) { m.load[0] = "/bin/sh"; }), "");
  EXPECT_NE(with_model([](Model& m) { m.load[0] = "../bin/sh"; }), "");
  // A file that is not executable is no program.
  EXPECT_NE(refusal([](Manifest& m) {
              m.models[0].load = {"lib/x.so"};
              m.variants[0].files[0].executable = false;
            }),
            "");
  // So is one that a link leads to, and a link that leads nowhere or round.
  const auto with_link = [](const std::string& to, bool executable) {
    return refusal([&](Manifest& m) {
      m.models[0].load = {"lib/x.so.1"};
      m.variants[0].files[0].executable = executable;
      m.variants[0].files[1].link = to;
      m.variants[0].files.push_back({"lib/again", "x.so.1", 0, std::nullopt, false, 0, 0});
    });
  };
  EXPECT_EQ(with_link("x.so", true), "");
  EXPECT_NE(with_link("x.so", false), "");
  EXPECT_NE(with_link("none", true), "");
  EXPECT_NE(with_link("again", true), "");
  EXPECT_NE(refusal([](Manifest& m) { m.models[1].name = m.models[0].name; }), "");
  // The program of a model for the CPU's variant has to be in that, too.
  EXPECT_NE(refusal([](Manifest& m) {
              m.models[1].load = {"lib/x.so"};
              m.variants.push_back({});
              m.variants[1].name = "cpu";
              m.variants[1].files = {{"f", std::nullopt, 1, kHash, true, 0, 1}};
              m.variants[1].archive = {{"cpu.tar.zst", 200, kHash}};
            }),
            "");
}

TEST(PackManifest, TheNameTimeAndArgumentsOfAModelHaveBounds) {
  const auto with = [](const std::function<void(Model&)>& change) {
    const auto all = refusal([&](Manifest& m) {
      m.models[0].load = {"lib/x.so", "argument"};
      change(m.models[0]);
    });
    return all.substr(std::min(all.size(), all.rfind(": ") + 2));  // after the file and the model
  };
  const auto named = [&](const std::string& name) {
    return with([&](Model& model) { model.name = name; });
  };
  const std::string wrong_name = "a name has 1 to 128 characters, and no control character";
  EXPECT_EQ(named("m"), "");
  EXPECT_EQ(named(std::string(128, 'm')), "");
  for (const std::string& name : {std::string(), std::string(129, 'm'), std::string("a\x1b[31m"),
                                  std::string("a\nb"), std::string("a\tb")})
    EXPECT_EQ(named(name), wrong_name) << name;
  const auto for_seconds = [&](std::uint64_t seconds) {
    return with([&](Model& model) { model.seconds = seconds; });
  };
  EXPECT_EQ(for_seconds(1), "");
  EXPECT_EQ(for_seconds(86'400), "");
  EXPECT_EQ(for_seconds(0), "its program may not take 0 s");
  EXPECT_EQ(for_seconds(86'401), "its program may not take 86401 s");
  EXPECT_EQ(for_seconds(UINT64_MAX), "its program may not take 18446744073709551615 s");
  const auto called = [&](const std::string& argument) {
    return with([&](Model& model) { model.load[1] = argument; });
  };
  const std::string wrong_argument =
      "an argument of its program is empty, too long or holds a zero";
  EXPECT_EQ(called("a"), "");
  EXPECT_EQ(called(std::string(4096, 'a')), "");
  for (const std::string& argument :
       {std::string(), std::string(4097, 'a'), std::string("a\0b", 3)})
    EXPECT_EQ(called(argument), wrong_argument) << argument.size();
  const auto with_words = [&](std::size_t count) {
    return with([&](Model& model) { model.load.resize(count, "a"); });
  };
  EXPECT_EQ(with_words(100), "");
  EXPECT_EQ(with_words(101), "its program has more than 99 arguments");
}

// Files of the first member keep their paths; the others' are below it, behind the first's bytes.
TEST(PackManifest, ASetOfVariantsHasWhatEachMemberHas) {
  auto manifest = good();
  Variant old;
  old.name = "old";
  old.architectures = {"50", "80", "70"};
  old.code = {{"lib/x.so", {{{"sm_50"}, 1}}, "11.8"}};
  old.files = {{"lib/x.so", std::nullopt, 10, kHash, true, 20, 9}};
  old.archive = {{"libs-1.2-old.tar.zst", 50, kHash}};
  manifest.variants.push_back(old);
  const auto set = manifest.find("modern+old");
  ASSERT_TRUE(set);
  EXPECT_EQ(set->name, "modern+old");
  EXPECT_EQ(set->architectures, (std::vector<std::string>{"80", "90+PTX", "50", "70"}));
  ASSERT_EQ(set->files.size(), 3u);
  EXPECT_EQ(set->files[0], good().variants[0].files[0]);
  EXPECT_EQ(set->files[2].path, folder_of_member("modern+old", "old") + "/lib/x.so");
  EXPECT_EQ(set->files[2].offset_bytes, 220u);
  ASSERT_EQ(set->code.size(), 2u);
  EXPECT_EQ(set->code[1].path, set->files[2].path);
  EXPECT_EQ(set->archive_bytes(), 250u);
  // In the other order the other keeps its paths, and each architecture is still there once.
  EXPECT_EQ(manifest.find("old+modern")->architectures,
            (std::vector<std::string>{"50", "80", "70", "90+PTX"}));
  EXPECT_EQ(manifest.find("old")->files, old.files);
  EXPECT_FALSE(manifest.find("old+none"));
}

TEST(PackManifest, OtherDocumentsAreNamedAsSuch) {
  EXPECT_FALSE(parse_manifest("{}", "m"));
  EXPECT_FALSE(parse_manifest("", "m"));
  EXPECT_FALSE(parse_manifest("<html>404 not found</html>", "m"));
}

TEST(PackManifest, Times) {
  EXPECT_EQ(parse_utc("1970-01-02T00:00:00Z"), 86'400);
  for (const char* bad : {"", "2026-03-01", "2026-03-01T12:00:00", "2026-03-01T12:00:00Zx"})
    EXPECT_FALSE(parse_utc(bad)) << bad;
}

}  // namespace
}  // namespace gpuready::pack
