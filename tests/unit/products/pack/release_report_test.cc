// What `pack key`, `pack build` and `pack publish` say, whole, and what of it quietly.
#include "pack/report/release_report.h"

#include <gtest/gtest.h>

#include "report/report.h"

namespace gpuready {
namespace {

using namespace pack;

constexpr TerminalStyle kQuiet{.quiet = true}, kWide{.columns = 400};

Variant variant(const std::string& name) {
  Variant built;
  built.name = name;
  built.files = {{"a", std::nullopt, 2048, std::string(64, 'a'), false, 0, 1},
                 {"b", std::nullopt, 2048, std::string(64, 'b'), false, 0, 1}};
  built.archive = {{name + ".tar.zst", 1024, std::string(64, 'c')}};
  return built;
}

TEST(ReleaseReport, ABuildSumsUpItsVariantsWithEachContentOnce) {
  const BuildReport report{.name = "libs",
                           .version = "1.2",
                           .folder = "out",
                           .variants = {{variant("cpu"), {}}, {variant("more"), {}}}};
  EXPECT_EQ(render_terminal(report, TerminalStyle{}),
            "libs 1.2\n"
            "  Variant  Files  Content  Archive  CUDA that compiles it\n"
            "  cpu          2    4 KiB    1 KiB  -\n"
            "  more         2    4 KiB    1 KiB  -\n"
            "  cpu: CPU\n"
            "  more: CPU\n"
            "  All variants hold 8 KiB; each content once, 4 KiB. In out.\n");
  EXPECT_EQ(render_terminal(report, kQuiet), "");
}

TEST(ReleaseReport, ABuildSaysWhichVariantsHaveNoArchiveAndWhy) {
  BuildReport report{.name = "libs",
                     .version = "1.2",
                     .folder = "out",
                     .variants = {{variant("cpu"), {}}, {variant("more"), {"libx.so is missing"}}}};
  const std::string wrong = "  [x] more: libx.so is missing\n";
  EXPECT_EQ(render_terminal(report, TerminalStyle{}),
            "libs 1.2\n"
            "  Variant  Files  Content  Archive  CUDA that compiles it\n"
            "  cpu          2    4 KiB    1 KiB  -\n"
            "  cpu: CPU\n" +
                wrong +
                "  1 of 2 variants have an archive. Correct the others, and build them again.\n"
                "  They hold 4 KiB; each content once, 4 KiB. In out.\n");
  EXPECT_EQ(render_terminal(report, kQuiet), wrong);
  report.variants.erase(report.variants.begin());
  EXPECT_EQ(render_terminal(report, TerminalStyle{}),
            "libs 1.2\n" + wrong +
                "  0 of 1 variants have an archive. Correct the others, and build them again.\n");
}

TEST(ReleaseReport, APublicationSaysHowUsersInstallIt) {
  const auto key = make_secret_key().value().public_key();
  PublishReport report{.folder = "out", .published = {}, .key = key};
  report.published.manifest.name = "libs";
  report.published.manifest.version = "1.2";
  report.published.manifest.expires_utc = "2027-03-01T12:00:00Z";
  report.published.manifest.variants = {variant("cpu")};
  report.published.gaps = {"cpu: libx.so is the system's"};
  const std::string
      head = "libs 1.2 is published in out\n",
      gaps = "  [!] cpu: libx.so is the system's\n",
      usual =
          head +
          "  Variant  Files  Content  Archive\n"
          "  cpu          2    4 KiB    1 KiB\n"
          "  cpu: CPU\n" +
          gaps + "  Signed by key " + key.id_text() +
          ", valid until 2027-03-01T12:00:00Z. Upload all files of the folder; users install by:\n"
          "    gpuready pack install URL --key " +
          key.text() + "\n";
  EXPECT_EQ(render_terminal(report, kWide), usual);
  EXPECT_EQ(render_terminal(report, kQuiet), head + gaps);
  report.oci_layout = "layout";
  EXPECT_EQ(render_terminal(report, kWide),
            usual +
                "  For a container registry:\n"
                "    skopeo copy --preserve-digests oci:layout:1.2 docker://HOST/NAME:1.2\n");
  EXPECT_EQ(render_terminal(report, kQuiet), head + gaps);
}

TEST(ReleaseReport, AKeyIsShownAndQuietlyOnlyItsPublicHalf) {
  const auto key = make_secret_key().value().public_key();
  const KeyFiles files{
      .secret_path = "a.key", .public_path = "a.pub", .key = key, .chain_path = ""};
  EXPECT_EQ(render_terminal(files, kWide),
            "Key " + key.id_text() +
                ": the private half is in a.key (keep it, and keep it secret), the public half in "
                "a.pub. Whoever installs trusts this public key:\n  " +
                key.text() + "\n");
  EXPECT_EQ(render_terminal(files, kQuiet), key.text() + "\n");
}

}  // namespace
}  // namespace gpuready
