// What an installer does where something is missing: no GPU, no variant for the CPU, a download
// that fails, a release that is not trusted.
#include "pack/store/install_best.h"

#include <fmt/format.h>

#include "unit/products/pack/code/fixtures.h"
#include "unit/products/pack/gpus.h"
#include "unit/products/pack/workshop.h"

namespace gpuready::pack {
namespace {

// Text that the driver compiles: code for 7.5 and newer.
const Workshop::Files kGpu = {
    {"code.ptx",
     ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n  ret;\n}\n"},
    {"data", noise(200'000, 1)}};
const Workshop::Files kCpu = {{"data", noise(100'000, 2)}};

class InstallBest : public testing::Test {
 protected:
  InstallBest() { shop_.architectures = {{"modern", {"75-virtual"}}}; }

  static SelectMachine machine(std::string_view gpus) {
    SelectMachine machine;
    machine.gpus = gpus_of(gpus);
    return machine;
  }
  BestOptions options() const {
    BestOptions best;
    best.key = shop_.trusted;
    best.to = shop_.root + "/store";
    best.load_test = false;
    return best;
  }
  BestInstall install(const std::string& from, std::string_view gpus) {
    const auto origin = open_origin(*shop_.host, shop_.root + "/" + from);
    EXPECT_TRUE(origin) << error_text(origin);
    return install_best(*shop_.host, **origin, machine(gpus), options());
  }
  // "modern:chosen cpu:why it is not": what the answer says of each variant.
  static std::string considered(const BestInstall& done) {
    std::vector<std::string> all;
    for (const auto& each : done.decision.selection.considered)
      all.push_back(each.name + ":" +
                    (each.chosen ? "chosen" : join(each.problems, ";") + each.why_not));
    return join(all, " | ");
  }
  std::string archive(const std::string& from, const std::string& variant) const {
    return fmt::format("{}/{}/libs-1.0-{}.tar.zst", shop_.root, from, variant);
  }
  static std::string told(const BestInstall& done) {
    std::string text = done.outcome.error ? done.outcome.error->message : "";
    for (const auto& note : done.notes) text += "\n" + note;
    return text;
  }
  static bool has(const std::string& text, std::string_view part) {
    return text.find(part) != text.npos;
  }

  Workshop shop_;
};

TEST_F(InstallBest, AReleaseForGpusAloneHasNothingForOtherMachines) {
  ASSERT_EQ(error_text(shop_.publish("1.0", {{"modern", kGpu}})), "");
  const auto none = install("release", "");
  EXPECT_EQ(none.outcome.end, InstallEnd::nothing) << told(none);
  EXPECT_FALSE(none.outcome.error);
  EXPECT_TRUE(has(told(none), "No GPU is here, and the release has no variant for the CPU."))
      << told(none);
  EXPECT_EQ(install("release", "5.0").outcome.end, InstallEnd::nothing);
  EXPECT_FALSE(std::filesystem::exists(shop_.root + "/store"));
  EXPECT_EQ(install("release", "8.6").outcome.end, InstallEnd::installed);
}

// An archive that is cut short, that is not there, or that is a page: a download that failed.
TEST_F(InstallBest, TheCpusVariantStandsInForADownloadThatFails) {
  ASSERT_EQ(error_text(shop_.publish("1.0", {{"modern", kGpu}, {"cpu", kCpu}})), "");
  const auto path = archive("release", "modern");
  const auto whole = read_text(path);
  for (const std::string& bad :
       {whole.substr(0, whole.size() / 2), std::string("<html>"), std::string()}) {
    std::filesystem::remove_all(shop_.root + "/store");
    write_text(path, bad);
    const auto done = install("release", "8.6");
    ASSERT_EQ(done.outcome.end, InstallEnd::installed) << told(done);
    EXPECT_EQ(done.outcome.installed->variant, "cpu");
    EXPECT_TRUE(has(told(done), "and the manifest says")) << told(done);
  }
  // Where the CPU's is no better, the first reason is told and nothing is changed.
  std::filesystem::remove_all(shop_.root + "/store");
  write_text(archive("release", "cpu"), "cut");
  const auto neither = install("release", "8.6");
  EXPECT_EQ(neither.outcome.end, InstallEnd::failed);
  EXPECT_TRUE(has(told(neither), "libs-1.0-modern.tar.zst")) << told(neither);
  EXPECT_FALSE(std::filesystem::exists(shop_.root + "/store/current"));
}

TEST_F(InstallBest, TheAnswerSaysWhatWasTakenAndWhy) {
  ASSERT_EQ(error_text(shop_.publish("1.0", {{"cpu", kCpu}, {"modern", kGpu}})), "");
  EXPECT_EQ(considered(install("release", "8.6")), "cpu:modern serves 8.6. | modern:chosen");
  std::filesystem::remove_all(shop_.root + "/store");
  EXPECT_EQ(considered(install("release", "")),
            "cpu:chosen | modern:No GPU is here, so the CPU's is chosen.");
  EXPECT_EQ(considered(install("release", "5.0")),
            "cpu:chosen | modern:5.0: code.ptx: compute_75 is for 7.5 and newer");
  const auto origin = open_origin(*shop_.host, shop_.root + "/release");
  auto named = options();
  named.variant = "cpu";
  const auto forced = install_best(*shop_.host, **origin, machine("8.6"), named);
  EXPECT_EQ(considered(forced), "cpu:chosen | modern:--variant names cpu.");
  EXPECT_EQ(forced.decision.selection.variants, std::vector<std::string>{"cpu"});
  EXPECT_TRUE(forced.decision.selection.for_cpu);

  // What replaces the variant that the rules chose.
  std::filesystem::remove_all(shop_.root + "/store");
  write_text(archive("release", "modern"), "cut");
  const auto instead = install("release", "8.6");
  EXPECT_TRUE(considered(instead).starts_with("cpu:chosen | modern:modern: ")) << told(instead);
  EXPECT_TRUE(has(considered(instead), "libs-1.0-modern.tar.zst")) << considered(instead);
  EXPECT_EQ(instead.decision.selection.variants, std::vector<std::string>{"cpu"});
  // Nothing was decided.
  write_text(shop_.root + "/release/manifest.json.minisig", "<html>not found</html>");
  EXPECT_EQ(considered(install("release", "8.6")), "");
}

// Whatever comes first in the release, only a variant for the CPU that runs here replaces another.
TEST_F(InstallBest, OnlyACpusVariantThatRunsHereStandsIn) {
  shop_.architectures["a"] = {"75-virtual"};
  shop_.floors["cpu"].glibc = "2.39";
  ASSERT_EQ(error_text(shop_.publish("1.0", {{"a", kGpu}, {"cpu", kCpu}})), "");
  write_text(archive("release", "a"), "cut");
  for (const auto& [glibc, end] :
       {std::pair{"2.38", InstallEnd::failed}, {"2.39", InstallEnd::installed}}) {
    auto here = machine("8.6");
    here.glibc = parse_version(glibc);
    const auto origin = open_origin(*shop_.host, shop_.root + "/release");
    const auto done = install_best(*shop_.host, **origin, here, options());
    EXPECT_EQ(done.outcome.end, end) << told(done);
    EXPECT_EQ(has(told(done), "So the CPU's variant is installed."), end == InstallEnd::installed);
  }
}

std::string text_of(const LoadPlan& plan) {
  const auto pieces = [&](const std::vector<CodePiece>& code) {
    std::string text;
    for (const auto& piece : code)
      text += fmt::format(" {}@{}{}", piece.path.substr(plan.folder.size() + 1), piece.offset_bytes,
                          piece.text ? " text" : "");
    return text;
  };
  std::string text = fmt::format("{} on {} {}:", plan.variant, plan.device, plan.name);
  for (const auto& library : plan.libraries)
    text += " opens " + library.substr(plan.folder.size() + 1);
  text += pieces(plan.code);
  for (const auto& planned : plan.probes)
    text += fmt::format("; {}:{}", planned.probe.kernel, pieces(planned.code));
  return text;
}

// A set's members on their own GPUs: of each kind of container one that this GPU loads, for a probe
// all that may hold its kernel. A GPU without a UUID cannot be named to the child.
TEST_F(InstallBest, TheLoadTestTriesWhatEachGpuLoads) {
  shop_.architectures = {{"ampere", {"86-real", "86-virtual"}}, {"hopper", {"90-real"}}};
  const auto filled = [](fixture::Data data) {
    data.resize(2048);
    return std::string(data.begin(), data.end());
  };
  const auto fat = filled(fixture::fat_binary({fixture::cubin_entry(86)}));
  const auto bare = filled(fixture::cubin({.architecture = 86}));
  const auto newer = filled(fixture::cubin({.architecture = 100}));
  constexpr const char* kText =
      ".version 7.1\n.target sm_86\n.address_size 64\n.visible .entry t()\n{\n  ret;\n}\n";
  const auto hopper = filled(fixture::fat_binary({fixture::cubin_entry(90)}));
  shop_.probes = {{"ampere",
                   {{.file = "code.bin", .kernel = "k", .arguments = {}},
                    {.file = "code.ptx", .kernel = "t", .arguments = {}}}}};
  ASSERT_EQ(
      error_text(shop_.publish(
          "1.0", {{"ampere", {{"code.bin", newer + fat + fat + bare + bare}, {"code.ptx", kText}}},
                  {"hopper", {{"code.bin", hopper}}}})),
      "");
  auto here = machine("8.6,9.0,9.0");
  for (std::size_t i = 0; i < 2; ++i) {
    here.gpus[i].uuid = fmt::format("GPU-{}", i);
    here.gpus[i].name = i == 0 ? "A10" : "H100";
  }
  auto best = options();
  best.load_test = true;
  std::vector<std::string> tried;
  best.how.load_test = [&](const LoadPlan& plan) {
    tried.push_back(text_of(plan));
    return LoadResult{plan.device, plan.name, 1, 1, {}};
  };
  const auto origin = open_origin(*shop_.host, shop_.root + "/release");
  const auto done = install_best(*shop_.host, **origin, here, best);
  ASSERT_EQ(done.outcome.end, InstallEnd::installed) << told(done);
  EXPECT_EQ(join(tried, "\n"),
            "hopper on GPU-1 H100: code.bin@0\n"
            "ampere on GPU-0 A10: code.bin@2048 code.bin@6144; k: code.bin@2048 code.bin@4096 "
            "code.bin@6144 code.bin@8192; t: code.ptx@0 text");
}

TEST_F(InstallBest, AVersionThatStaysIsNotOfThisRelease) {
  ASSERT_EQ(error_text(shop_.publish("1.0", {{"cpu", kCpu}, {"modern", kGpu}})), "");
  ASSERT_EQ(install("release", "8.6").outcome.end, InstallEnd::installed);
  auto newer = kGpu;
  newer["data"] = noise(200'000, 3);
  ASSERT_EQ(error_text(shop_.publish("1.1", {{"cpu", kCpu}, {"modern", newer}}, "newer")), "");
  write_text(shop_.root + "/newer/libs-1.1-modern.tar.zst", "cut");
  const auto done = install("newer", "8.6");
  EXPECT_EQ(done.outcome.end, InstallEnd::unchanged) << told(done);
  EXPECT_TRUE(done.decision.selection.variants.empty());
  EXPECT_TRUE(has(considered(done), "modern:modern of 1.1: ")) << considered(done);
}

TEST(MayBeReplaced, WhereTheVariantIsAtFaultAndNotTheDisk) {
  const auto ended = [](InstallEnd end, ErrorKind kind, int code) {
    InstallOutcome outcome;
    outcome.end = end;
    outcome.error = Error{kind, "", code};
    return may_be_replaced(outcome);
  };
  EXPECT_TRUE(ended(InstallEnd::not_loaded, ErrorKind::io, 0));
  EXPECT_TRUE(ended(InstallEnd::failed, ErrorKind::io, 0));
  EXPECT_TRUE(ended(InstallEnd::failed, ErrorKind::not_found, ENOENT));
  EXPECT_FALSE(ended(InstallEnd::refused, ErrorKind::bad_input, 0));
  EXPECT_FALSE(ended(InstallEnd::failed, ErrorKind::cancelled, 0));
  EXPECT_FALSE(ended(InstallEnd::failed, ErrorKind::busy, 0));
  for (const int code : {ENOSPC, EDQUOT, EROFS})
    EXPECT_FALSE(ended(InstallEnd::failed, ErrorKind::io, code)) << code;
}

TEST_F(InstallBest, AWrongHashIsNotTrusted) {
  ASSERT_EQ(error_text(shop_.publish("1.0", {{"modern", kGpu}, {"cpu", kCpu}})), "");
  auto bytes = read_text(archive("release", "modern"));
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_text(archive("release", "modern"), bytes);
  const auto done = install("release", "8.6");
  EXPECT_EQ(done.outcome.end, InstallEnd::refused);
  EXPECT_TRUE(has(told(done), "data: ")) << told(done);
  EXPECT_FALSE(std::filesystem::exists(shop_.root + "/store/current"));
}

// Another installer that is not done is no reason for the CPU's variant.
TEST_F(InstallBest, ABusyStoreIsLeftAlone) {
  ASSERT_EQ(error_text(shop_.publish("1.0", {{"modern", kGpu}, {"cpu", kCpu}})), "");
  Store store(*shop_.host, live_storage(), shop_.root + "/store");
  const auto lock = store.open();
  ASSERT_TRUE(lock);
  const auto done = install("release", "8.6");
  EXPECT_EQ(done.outcome.end, InstallEnd::failed);
  ASSERT_TRUE(done.outcome.error);
  EXPECT_EQ(done.outcome.error->kind, ErrorKind::busy);
}

TEST_F(InstallBest, AQuestionTrustsNoOlderReleaseEither) {
  ASSERT_EQ(error_text(shop_.publish("1.0", {{"cpu", kCpu}}, "old")), "");
  ASSERT_EQ(error_text(shop_.publish("1.1", {{"cpu", kCpu}}, "new")), "");
  ASSERT_EQ(install("new", "").outcome.end, InstallEnd::installed);
  const auto ask = [&](const std::string& from) {
    const auto origin = open_origin(*shop_.host, shop_.root + "/" + from);
    return read_trusted_release(*shop_.host, **origin, {}, options().to);
  };
  EXPECT_EQ(error_text(ask("new")), "");
  const auto old = ask("old");
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().kind, ErrorKind::bad_input);
  EXPECT_TRUE(has(error_text(old), "offers version 1.0, and 1.1 was seen before"))
      << error_text(old);
}

TEST_F(InstallBest, AWrongSignatureIsNamedByItsOwnFile) {
  ASSERT_EQ(error_text(shop_.publish("1.0", {{"cpu", kCpu}})), "");
  write_text(shop_.root + "/release/manifest.json.minisig", "<html>not found</html>");
  const auto done = install("release", "");
  EXPECT_EQ(done.outcome.end, InstallEnd::refused);
  EXPECT_TRUE(has(told(done), "/manifest.json.minisig: not a")) << told(done);
}

}  // namespace
}  // namespace gpuready::pack
