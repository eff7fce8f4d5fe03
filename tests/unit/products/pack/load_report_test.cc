// What load reports prove of a release, and each way in which one does not.
#include "pack/store/load_report.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pack/release/recipe.h"
#include "unit/products/pack/workshop.h"

namespace gpuready::pack {
namespace {

Variant made(const std::string& name, std::vector<std::string> code) {
  Variant variant;
  variant.name = name;
  if (!code.empty()) {
    variant.architectures = {"80"};
    variant.code = {{"lib/x.so", {{std::move(code)}}, {}}};
  }
  variant.files = {{"lib/x.so", std::nullopt, 1000, std::string(64, 'a'), false, 0, 1}};
  return variant;
}

struct Proof : testing::Test {
  Proof() {
    manifest.name = "libs";
    manifest.version = "2.0";
    manifest.variants = {made("modern", {"sm_75", "sm_86"}), made("latest", {"compute_90@8.0"}),
                         made("cpu", {})};
    manifest.machines = {{"laptop", {"8.6"}, "535"}, {"server", {"9.0"}, {}}, {"plain", {}, {}}};
    for (auto [name, target] : {std::pair("laptop", "8.6"), {"server", "9.0"}, {"plain", ""}})
      reports.push_back(signed_report(name, report_of(target)));
  }

  // As an installation makes it, of one GPU or none.
  LoadReport report_of(const std::string& target) const {
    SelectMachine machine;
    if (!target.empty()) machine.gpus = {{*parse_target_gpu(target), "GPU", "GPU-1", {}}};
    machine.driver.version = parse_version("535.104.05");
    const auto chosen = select_variant(manifest, machine).variants.at(0);
    const std::string device = target.empty() ? "cpu" : "GPU-1";
    const LoadPlan plan{device, "", {"/s/1/lib/x.so"}, {{"/s/1/lib/x.so", 64}}, chosen, "/s/1"};
    const TriedLoad tried{chosen, plan, {device, "", 1, 1, {}}};
    return load_report(manifest, machine, {&tried, 1}, 0);
  }
  HandedReport signed_report(const std::string& name, const LoadReport& report) const {
    const auto text = load_report_text(report);
    return {name, text, sign(key, text, "")};
  }
  std::string missing() const {
    const PublicKey keys[] = {other.public_key(), key.public_key()};
    return join(missing_proof(manifest, keys, reports), "\n");
  }
  void expect(std::string_view part) const {
    EXPECT_NE(missing().find(part), std::string::npos) << "'" << missing() << "' lacks " << part;
  }

  Manifest manifest;
  SecretKey key = make_secret_key().value(), other = make_secret_key().value();
  std::vector<HandedReport> reports;
};

TEST_F(Proof, OfEachMachineLetsARelease) {
  EXPECT_EQ(missing(), "");
  const auto report = parse_load_report(reports[0].text, "report");
  ASSERT_TRUE(report) << error_text(report);
  EXPECT_EQ(report->variant, "modern");
  EXPECT_EQ(report->driver, "535.104.05");
  ASSERT_EQ(report->loads.size(), 1u);
  EXPECT_EQ(report->loads[0].libraries, std::vector<std::string>{"lib/x.so"});
  ASSERT_EQ(report->loads[0].code.size(), 1u);
  EXPECT_EQ(report->loads[0].code[0].by_cubin, 1u);
  EXPECT_EQ(report->loads[0].code[0].by_jit, 0u);
  const auto server = parse_load_report(reports[1].text, "report");
  EXPECT_EQ(server->loads[0].code[0].by_cubin, 0u);
  EXPECT_EQ(server->loads[0].code[0].by_jit, 1u);
}

TEST_F(Proof, OfEachMachineIsNeeded) {
  reports.erase(reports.begin());
  EXPECT_EQ(missing(), "no load report covers the machine laptop (GPUs 8.6, driver 535)");
  reports.clear();
  expect("the machine plain (GPUs none)");
  manifest.machines.clear();
  expect("names no [[machines]]");
  EXPECT_EQ(missing_proof(manifest, {}, {}).size(), 2u);  // nobody is trusted either
}

TEST_F(Proof, OfAnotherDriverBranchIsNone) {
  manifest.machines[0].driver = "550";
  expect("laptop (GPUs 8.6, driver 550)");
  manifest.machines[0].driver = "535.104.05";
  EXPECT_EQ(missing(), "");
  manifest.machines[0].driver = "53";  // versions are compared number by number
  expect("laptop");
}

TEST_F(Proof, ForgedIsRefused) {
  const auto good = reports[0];
  reports[0].signature.reset();
  expect("laptop: it is not signed");
  reports[0] = good;
  reports[0].signature = sign(make_secret_key().value(), good.text, "");
  expect("laptop: none of the recipe's report_keys signed it");
  reports[0] = good;
  reports[0].text += " ";
  expect("laptop: none of the recipe's report_keys signed it");
  reports[0].text = "{}";
  reports[0].signature = sign(key, "{}", "");
  expect("laptop: not a load report");
}

TEST_F(Proof, OfSomethingElseIsRefused) {
  auto report = report_of("8.6");
  report.version = "1.9";
  reports[0] = signed_report("laptop", report);
  expect("laptop: it is of version 1.9, and 2.0 is published");
  report = report_of("8.6");
  report.name = "others";
  reports[0] = signed_report("laptop", report);
  expect("laptop: it is of the package others");
  reports[0] = signed_report("laptop", report_of("8.6"));
  manifest.variants[0].files[0].sha256 = std::string(64, 'b');
  expect("laptop: it is of other files than variant modern holds now");
}

TEST_F(Proof, OfAFailureOrOfLessThanAllIsRefused) {
  auto report = report_of("8.6");
  report.loads[0].failure = "lib/x.so: cuModuleLoadData gives error 209";
  reports[0] = signed_report("laptop", report);
  expect("laptop: variant modern did not load on GPU-1: lib/x.so: cuModuleLoadData gives error");
  report = report_of("8.6");
  report.loads.clear();
  reports[0] = signed_report("laptop", report);
  expect("laptop: it reports no load of variant modern on GPU (8.6)");
  manifest.variants[0].probes = {{.file = "lib/x.so", .kernel = "probe", .arguments = {}}};
  reports[0] = signed_report("laptop", report_of("8.6"));
  expect("laptop: it reports no launch of probe on GPU (8.6)");
  report = report_of("8.6");
  report.loads[0].kernels = {"probe"};
  reports[0] = signed_report("laptop", report);
  EXPECT_EQ(missing(), "");
  report = report_of("");
  report.loads.clear();
  reports[2] = signed_report("plain", report);
  expect("plain: it reports no load on the CPU");
  // Another variant than the release gives that machine proves nothing.
  report = report_of("8.6");
  report.variant = "cpu";
  report.loads = {{"cpu", "cpu", {}, {}, {}}};
  report.content_sha256 = content_digest(manifest.variants[2]);
  reports[0] = signed_report("laptop", report);
  expect("laptop: variant cpu was tried, and the release gives that machine modern");
}

// The reasons of each key that did not sign are named in the order of the keys.
TEST_F(Proof, SignedByNoTrustedKeyNamesEachOfThem) {
  const auto stranger = make_secret_key().value();
  reports = {{"r.json", reports[0].text, sign(stranger, reports[0].text, "")}};
  manifest.machines.resize(1);
  const PublicKey keys[] = {other.public_key(), key.public_key()};
  std::string reasons;
  for (const auto& each : keys)
    reasons += (reasons.empty() ? "" : "; ") +
               error_text(verify_signature(each, reports[0].text, *reports[0].signature, "r.json"));
  EXPECT_EQ(missing(), "r.json: none of the recipe's report_keys signed it (" + reasons +
                           ")\nno load report covers the machine laptop (GPUs 8.6, driver 535)");
  reports[0].signature = sign(other, reports[0].text, "");
  EXPECT_EQ(missing(), "") << "the first key is trusted as well";
}

TEST_F(Proof, IsNotAskedForWhereNoOneCouldGiveIt) {
  const PublicKey keys[] = {key.public_key()};
  reports[0].signature.reset();  // not read
  EXPECT_EQ(join(missing_proof(manifest, {}, reports), "\n"),
            "proof is required, and the recipe names no report_keys that are trusted");
  manifest.machines.clear();
  EXPECT_EQ(join(missing_proof(manifest, keys, reports), "\n"),
            "proof is required, and the recipe names no [[machines]]");
}

class ReportFiles : public Proof {
 protected:
  std::string at(const std::string& name) const { return shop_.root + "/reports/" + name; }
  // "a.json:text:signature b.json:text:-"
  std::string read(const std::string& path) const {
    const auto all = read_reports(*shop_.host, path);
    if (!all) return "error: " + all.error().message;
    std::string text;
    for (const auto& report : *all)
      text += fmt::format("{}{}:{}:{}", text.empty() ? "" : " ",
                          after_prefix(report.name, at("")).value_or(report.name), report.text,
                          report.signature.value_or("-"));
    return text;
  }
  Workshop shop_;
};

TEST_F(ReportFiles, OfAFolderAreThoseThatEndWithJsonEachWithItsSignature) {
  for (const auto& [name, text] : Workshop::Files{{"b.json", "two"},
                                                  {"b.json.minisig", "signed two"},
                                                  {"a.json", "one"},
                                                  {"c.json", "three"},
                                                  {"c.minisig", "of no report"},
                                                  {"notes.txt", "no report"},
                                                  {"json", "no report"},
                                                  {"sub/d.json", "deeper"}})
    write_text(at(name), text);
  EXPECT_EQ(read(shop_.root + "/reports"), "a.json:one:- b.json:two:signed two c.json:three:-");
}

TEST_F(ReportFiles, ThatIsNamedIsReadWhateverItsName) {
  write_text(at("proof"), "one");
  write_text(at("proof.minisig"), "signed one");
  write_text(at("other.json"), "another");
  EXPECT_EQ(read(at("proof")), "proof:one:signed one");
}

TEST_F(ReportFiles, ThatCannotBeReadAreAnError) {
  EXPECT_TRUE(read(at("absent")).starts_with("error: " + at("absent"))) << read(at("absent"));
  std::filesystem::create_directories(shop_.root + "/reports");
  EXPECT_EQ(read(shop_.root + "/reports"), "") << "an empty folder has none";
  // A limit on both: what is larger is not a report, and not a signature.
  write_text(at("a.json"), std::string(kMostLoadReportBytes, 'x'));
  write_text(at("a.json.minisig"), std::string(kMostSignatureBytes, 'x'));
  EXPECT_FALSE(read(at("a.json")).starts_with("error")) << "the largest of each";
  write_text(at("a.json"), std::string(kMostLoadReportBytes + 1, 'x'));
  EXPECT_TRUE(read(at("a.json")).starts_with("error: " + at("a.json"))) << read(at("a.json"));
}

// One that is there and cannot be read is not reported as missing.
TEST_F(ReportFiles, WhoseSignatureCannotBeReadAreAnError) {
  write_text(at("a.json"), "one");
  write_text(at("a.json.minisig"), std::string(kMostSignatureBytes + 1, 'x'));
  EXPECT_TRUE(read(at("a.json")).starts_with("error: " + at("a.json.minisig")))
      << read(at("a.json"));
  std::filesystem::remove(at("a.json.minisig"));
  std::filesystem::create_directories(at("a.json.minisig"));
  EXPECT_TRUE(read(at("a.json")).starts_with("error: ")) << read(at("a.json"));
}

TEST_F(ReportFiles, TheirPlaceIsTriedBeforeAnInstallation) {
  std::filesystem::create_directories(shop_.root + "/reports");
  const auto text = [&](const std::string& path, bool is_signed) {
    return error_text(check_report_place(path, is_signed));
  };
  EXPECT_EQ(text(at("a.json"), true), "");
  EXPECT_TRUE(std::filesystem::is_empty(shop_.root + "/reports")) << "nothing of the trial is left";
  const auto nowhere = text(shop_.root + "/absent/a.json", false);
  EXPECT_TRUE(nowhere.starts_with("--report: " + shop_.root + "/absent/a.json cannot be written ("))
      << nowhere;
  EXPECT_TRUE(nowhere.ends_with("): name another file; nothing was installed")) << nowhere;
  std::filesystem::create_directories(at("a.json.minisig"));
  EXPECT_EQ(text(at("a.json"), false), "") << "no signature is to be written";
  const auto signature = text(at("a.json"), true);
  EXPECT_TRUE(signature.starts_with("--report: " + at("a.json.minisig") + " cannot be written ("))
      << signature;
}

TEST_F(ReportFiles, AreWrittenSignedWhereThereIsAKey) {
  std::filesystem::create_directories(shop_.root + "/reports");
  auto report = report_of("8.6");
  const auto written = write_report(at("a.json"), report, key, "1.2.3");
  ASSERT_TRUE(written) << error_text(written);
  EXPECT_EQ(*written, at("a.json") + " is signed by key " + key.public_key().id_text() + ".");
  report.gpuready = "1.2.3";
  EXPECT_EQ(read_text(at("a.json")), load_report_text(report));
  const auto comment = verify_signature(key.public_key(), read_text(at("a.json")),
                                        read_text(at("a.json.minisig")), "a.json");
  ASSERT_TRUE(comment) << error_text(comment);
  EXPECT_EQ(*comment, "load report of libs 2.0");
  // What was written is the proof that is asked for.
  const PublicKey keys[] = {key.public_key()};
  manifest.machines.resize(1);
  EXPECT_EQ(join(missing_proof(manifest, keys, *read_reports(*shop_.host, at("a.json"))), "\n"),
            "");
}

TEST_F(ReportFiles, WithoutAKeyAreNotSignedAndSaySo) {
  std::filesystem::create_directories(shop_.root + "/reports");
  const auto written = write_report(at("a.json"), report_of("8.6"), {}, "1.2.3");
  ASSERT_TRUE(written) << error_text(written);
  EXPECT_EQ(*written, at("a.json") +
                          " is not signed: pack publish --require-proof accepts only signed "
                          "reports (--report-key).");
  EXPECT_TRUE(std::filesystem::exists(at("a.json")));
  EXPECT_FALSE(std::filesystem::exists(at("a.json.minisig")));
}

TEST_F(ReportFiles, AreNotWrittenWhereNothingWasLoaded) {
  std::filesystem::create_directories(shop_.root + "/reports");
  const auto written = write_report(at("a.json"), {}, key, "1.2.3");
  ASSERT_TRUE(written) << error_text(written);
  EXPECT_EQ(*written, at("a.json") + " is not written: nothing was loaded.");
  EXPECT_TRUE(std::filesystem::is_empty(shop_.root + "/reports"));
}

TEST_F(ReportFiles, ThatCannotBeWrittenAreAnError) {
  EXPECT_FALSE(write_report(at("a.json"), report_of("8.6"), key, "1.2.3")) << "no such folder";
  std::filesystem::create_directories(at("a.json.minisig"));
  EXPECT_FALSE(write_report(at("a.json"), report_of("8.6"), key, "1.2.3")) << "the signature";
}

TEST(ContentDigest, KnowsEveryByteThatIsInstalled) {
  const Variant variant = made("gpu", {"sm_86"});
  const auto before = content_digest(variant);
  const auto differs = [&](auto change) {
    Variant other = variant;
    change(other);
    return content_digest(other) != before;
  };
  EXPECT_TRUE(differs([](Variant& v) { v.files[0].path = "lib/y.so"; }));
  EXPECT_TRUE(differs([](Variant& v) { v.files[0].sha256 = std::string(64, 'b'); }));
  EXPECT_TRUE(differs([](Variant& v) { v.files[0].executable = true; }));
  EXPECT_TRUE(differs([](Variant& v) { v.files[0].link = "z.so"; }));
  EXPECT_TRUE(differs([](Variant& v) { v.files.clear(); }));
  // Where the bytes lie in an archive does not count.
  EXPECT_FALSE(differs([](Variant& v) { v.files[0].offset_bytes = 99; }));
}

TEST(Recipe, NamesMachinesAndReportKeys) {
  const auto key = make_secret_key()->public_key();
  const auto text = fmt::format(
      "name = \"libs\"\nversion = \"1\"\nreport_keys = [\"{}\"]\n[variants.cpu]\n"
      "[[machines]]\nname = \"laptop\"\ngpus = [\"8.6\"]\ndriver = \"550\"\n",
      key.text());
  const auto recipe = parse_recipe(text, "pack.toml", "/");
  ASSERT_TRUE(recipe) << error_text(recipe);
  EXPECT_EQ(recipe->report_keys, std::vector<PublicKey>{key});
  EXPECT_EQ(recipe->machines, (std::vector<TestMachine>{{"laptop", {"8.6"}, "550"}}));
  for (const auto& [from, to] : {std::pair("8.6", "fast"),
                                 {"550", "new"},
                                 {"[\"RW", "[\"RX"},
                                 {"name = \"laptop\"", "name = \"\""}}) {
    auto bad = text;
    bad.replace(bad.find(from), std::string(from).size(), to);
    EXPECT_FALSE(parse_recipe(bad, "pack.toml", "/")) << bad;
  }
}

}  // namespace
}  // namespace gpuready::pack
