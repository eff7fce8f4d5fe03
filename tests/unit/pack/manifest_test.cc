#include "pack/release/manifest.h"

#include <gtest/gtest.h>

#include <functional>

namespace gpuready::pack {
namespace {

const std::string kHash(64, 'a');

Manifest good() {
  Manifest manifest{"libs", "1.2", "2026-03-01T12:00:00Z", "2027-03-01T12:00:00Z", {}, {}};
  Variant variant;
  variant.name = "modern";
  variant.architectures = {"80", "90+PTX"};
  variant.code = {{"lib/x.so", {"sm_80", "compute_90@8.4"}, true}};
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
                                 "", ".gpuready/current"})
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
  EXPECT_NE(refusal([](Manifest& m) { m.variants[0].files[0].sha256 = "AB"; }), "");
  EXPECT_NE(refusal([](Manifest& m) { m.variants[0].files[0].sha256.reset(); }), "");
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
