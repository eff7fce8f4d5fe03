// What list, verify, rollback, gc and uninstall find and say, whole, and with which exit code.
#include "pack/report/store_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "pack/report/exit_rules.h"
#include "unit/products/pack/workshop.h"

namespace gpuready {
namespace {

using pack::error_text;
using pack::noise;
using pack::read_text;
using pack::write_text;

class StoreReports : public testing::Test {
 protected:
  void SetUp() override {
    home_ = shop_.root + "/home";
    ::setenv("HOME", home_.c_str(), 1);
    ASSERT_EQ(error_text(shop_.publish("1.0", {{"small", {{"a", noise(1024, 1)}}}}, "old")), "");
    ASSERT_EQ(error_text(shop_.publish(
                  "1.1", {{"large", {{"a", noise(1024, 2)}, {"b", noise(2048, 3)}}}}, "new")),
              "");
  }
  void TearDown() override { ::setenv("HOME", before_.c_str(), 1); }

  pack::Places places(const std::string& name = "libs") const {
    return *pack::default_places(*shop_.host, name);
  }
  pack::Store store(const std::string& name = "libs") const {
    return {*shop_.host, live_storage(), places(name).store};
  }
  std::string path(const std::string& file) const { return places().store + "/" + file; }
  void install(const std::string& name = "libs") {
    auto how = shop_.options();
    how.places = places(name);
    ASSERT_EQ(shop_.install("small", how, "old").end, pack::InstallEnd::installed);
    ASSERT_EQ(shop_.install("large", how, "new").end, pack::InstallEnd::installed);
  }
  Result<StoreReport> list() { return list_packages(*shop_.host, live_storage()); }
  Result<StoreReport> verify() {
    auto here = store();
    return verify_package(*shop_.host, here);
  }
  Result<StoreReport> roll_back(std::optional<std::uint64_t> number = {}) {
    return roll_back_package(*shop_.host, live_storage(), places(), number);
  }
  Result<StoreReport> collect() { return collect_package(*shop_.host, live_storage(), places()); }
  Result<StoreReport> uninstall(bool forget) {
    return uninstall_package(*shop_.host, live_storage(), places(), forget);
  }
  // One line a package, its problems, and the conclusion: "libs: 1 *2", "! what", "= so".
  std::string text(const Result<StoreReport>& report) const {
    if (!report) return "error: " + report.error().message;
    std::string all;
    for (const auto& package : report->packages) {
      const auto folder = after_prefix(package.store, home_ + "/.local/share/").value_or("?");
      all += std::string(folder.substr(0, folder.find('/'))) + ":";
      for (const auto& each : package.installed)
        all += fmt::format(" {}{}", each.number == package.current ? "*" : "", each.number);
      for (const auto& problem : package.problems) all += "\n! " + problem;
      all += "\n";
    }
    return all + (report->conclusion.empty() ? "" : "= " + report->conclusion);
  }
  static Exit exit_of_report(const Result<StoreReport>& report) {
    return report ? exit_of(report->packages) : exit_of_store_error(report.error());
  }

  pack::Workshop shop_;
  std::string home_;
  const std::string before_ = std::getenv("HOME") == nullptr ? "/" : std::getenv("HOME");
};

TEST_F(StoreReports, WithoutPackagesTheListSaysWhereItLooked) {
  EXPECT_EQ(text(list()), "= No package is installed in " + home_ + "/.local/share.");
  EXPECT_EQ(exit_of_report(list()), Exit::ok);
}

TEST_F(StoreReports, WithoutAHomeThereIsNoList) {
  for (const char* home : {"", "relative/folder"}) {
    ::setenv("HOME", home, 1);
    EXPECT_EQ(text(list()), "error: HOME is not set: name the folder with --to") << home;
    EXPECT_EQ(exit_of_report(list()), Exit::usage);
  }
}

TEST_F(StoreReports, TheListHasEveryVersionAndNoOtherFolder) {
  install();
  for (const char* folder : {"empty", "Not A Name/gpu-libs/generations", "other/generations"})
    std::filesystem::create_directories(home_ + "/.local/share/" + folder);
  EXPECT_EQ(text(list()), "libs: 1 *2\n");
  EXPECT_EQ(exit_of_report(list()), Exit::ok);
}

TEST_F(StoreReports, ADamagedPackageHidesNoneOfTheOthers) {
  install();
  for (const char* name : {"a-first", "odd"})
    write_text(home_ + "/.local/share/" + name + "/gpu-libs/state.json", "{");
  std::filesystem::create_directories(home_ + "/.local/share/odd/gpu-libs/generations");
  const auto listed = text(list());
  EXPECT_TRUE(
      listed.starts_with("libs: 1 *2\nodd:\n! " + home_ + "/.local/share/odd/gpu-libs/state.json"))
      << listed;
  EXPECT_EQ(std::ranges::count(listed, '\n'), 3) << listed;
  EXPECT_EQ(exit_of_report(list()), Exit::unhealthy);
}

TEST_F(StoreReports, APackageOfAnotherNameIsNotListedUnderThisOne) {
  install("another");
  EXPECT_EQ(text(list()), "= No package is installed in " + home_ + "/.local/share.");
}

// Root does not trust what another user could have written; the package is there all the same.
TEST_F(StoreReports, APackageThatRootDoesNotTrustIsListedWithTheReason) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  install();
  ASSERT_EQ(::chown(path("state.json").c_str(), 54321, 54321), 0);
  const auto untrusted = error_text(store().state());
  ASSERT_NE(untrusted, "");
  EXPECT_EQ(text(list()), "libs:\n! " + untrusted + "\n");
  EXPECT_EQ(exit_of_report(list()), Exit::unhealthy);
}

TEST_F(StoreReports, ADamagedRecordOfTheCurrentVersionIsAProblem) {
  install();
  write_text(path("generations/2/.gpuready/installed.json"), "{");
  const auto damage = error_text(store().installed(2));
  ASSERT_NE(damage, "");
  EXPECT_EQ(text(list()), "libs: 1\n! number 2 is current, and its record is damaged: " + damage +
                              ". Install again.\n");
  EXPECT_EQ(text(verify()), "error: " + damage);
  EXPECT_EQ(exit_of_report(verify()), Exit::unhealthy);
  ASSERT_TRUE(live_storage().unlink(path("current")));
  EXPECT_EQ(text(list()), "libs: 1\n") << "another version's record does not matter";
}

TEST_F(StoreReports, VerifyCountsWhatWasSigned) {
  install();
  EXPECT_EQ(text(verify()), "libs: 1 *2\n= All 2 files (3 KiB) are those that were signed.");
  EXPECT_EQ(exit_of_report(verify()), Exit::ok);
}

TEST_F(StoreReports, VerifyCountsWhatIsNotAsSigned) {
  install();
  write_text(path("current/extra"), "added");
  const auto added =
      "\n! " + path("generations/2/extra") + ": the package has no such file: it was added";
  EXPECT_EQ(
      text(verify()),
      "libs: 1 *2" + added + "\n= 1 problem: what is here is not what was signed. Install again.");
  EXPECT_EQ(exit_of_report(verify()), Exit::unhealthy);
  std::filesystem::remove(path("current/a"));
  const auto both = verify();
  ASSERT_TRUE(both);
  ASSERT_EQ(both->packages.size(), 1u);
  EXPECT_EQ(both->packages[0].problems.size(), 2u);
  EXPECT_EQ(both->conclusion, "2 problems: what is here is not what was signed. Install again.");
}

TEST_F(StoreReports, VerifyTrustsOnlyTheSignatureOfTheRememberedKey) {
  install();
  const auto manifest = path("current/.gpuready/manifest.json");
  const auto signature = read_text(manifest + ".minisig");
  const auto only_problem = [&] {
    const auto report = verify();
    return report && report->packages.at(0).problems.size() == 1
               ? report->packages[0].problems[0]
               : "not one problem: " + text(report);
  };
  const std::string missing =
      "the signature of the installed manifest, or the key that it was checked with, is missing";
  std::filesystem::remove(manifest + ".minisig");
  EXPECT_EQ(only_problem(), missing);
  const auto other = pack::make_secret_key().value();
  write_text(manifest + ".minisig", sign(other, read_text(manifest), "another's"));
  EXPECT_NE(only_problem().find("key"), std::string::npos) << only_problem();
  EXPECT_EQ(exit_of_report(verify()), Exit::unhealthy);
  write_text(manifest + ".minisig", signature);
  ASSERT_EQ(exit_of_report(verify()), Exit::ok);
  auto state = store().state().value();
  state.key.reset();
  ASSERT_TRUE(store().write_state(state));
  EXPECT_EQ(only_problem(), missing);
}

TEST_F(StoreReports, RollbackGoesToThePreviousVersionOrTheNumberedOne) {
  install();
  EXPECT_EQ(text(roll_back()), "libs: *1 2\n= libs 1.0, variant small, is current now.");
  EXPECT_EQ(text(roll_back(2)), "libs: 1 *2\n= libs 1.1, variant large, is current now.");
  const auto absent = roll_back(7);
  EXPECT_EQ(text(absent), "error: " + places().store +
                              ": there is no version of number 7; those that are there: 1, 2");
  EXPECT_EQ(exit_of_report(absent), Exit::usage);
  std::filesystem::remove(path("generations/1/a"));
  const auto damaged = roll_back(1);
  EXPECT_EQ(text(damaged),
            "error: " + places().store + ": number 1 is not whole any more: install it again");
  EXPECT_EQ(exit_of_report(damaged), Exit::unhealthy);
}

TEST_F(StoreReports, GarbageIsCountedAndTwoVersionsStay) {
  install();
  EXPECT_EQ(text(collect()),
            "libs: 1 *2\n= Removed 0 old versions and 0 files that no other needs (0 B).");
  auto how = shop_.options();
  how.places = places();
  ASSERT_EQ(error_text(shop_.publish("1.2", {{"last", {{"a", noise(512, 9)}}}}, "last")), "");
  ASSERT_EQ(shop_.install("last", how, "last").end, pack::InstallEnd::installed);
  write_text(path("objects/" + std::string(64, 'f')), std::string(100, 'x'));
  const auto listed = text(list());
  EXPECT_EQ(text(collect()),
            "libs: 2 *3\n= Removed 0 old versions and 1 files that no other needs (100 B).")
      << "before: " << listed;
  EXPECT_EQ(exit_of_report(collect()), Exit::ok);
}

TEST_F(StoreReports, GarbageIsWhatNeitherTheCurrentVersionNorThePreviousOneNeeds) {
  install();
  ASSERT_TRUE(roll_back());  // the first version has no previous one
  EXPECT_EQ(text(collect()),
            "libs: *1\n= Removed 1 old versions and 2 files that no other needs (3 KiB).");
}

TEST_F(StoreReports, UninstallKeepsTheKeyUnlessItIsToBeForgotten) {
  install();
  EXPECT_EQ(text(uninstall(false)),
            "= " + places().store +
                " is empty now. Its state.json remembers the key and the highest version seen, so "
                "that no server goes back behind it (--forget removes that, too).");
  EXPECT_EQ(store().state()->highest_version, "1.1");
  EXPECT_EQ(text(list()), "= No package is installed in " + home_ + "/.local/share.");
  EXPECT_EQ(text(uninstall(false)), "error: " + places().store + ": no package is installed there");
  EXPECT_EQ(text(uninstall(true)), "= " + places().store +
                                       " is removed, and what was known of the package is "
                                       "forgotten.");
  EXPECT_FALSE(std::filesystem::exists(places().store));
}

TEST_F(StoreReports, UninstallNamesWhatItDidNotInstall) {
  install();
  write_text(path("notes.txt"), "mine");
  write_text(path("more/file"), "mine");
  EXPECT_EQ(text(uninstall(true)),
            "= " + places().store +
                " stays, since it holds more, notes.txt that gpuready did not install; what was "
                "known of the package is forgotten.");
  EXPECT_EQ(read_text(path("notes.txt")), "mine");
  EXPECT_FALSE(store().remembers());
}

TEST_F(StoreReports, UninstallWithoutForgettingNamesNoForeignFile) {
  install();
  write_text(path("notes.txt"), "mine");
  EXPECT_EQ(text(uninstall(false)),
            "= " + places().store +
                " is empty now. Its state.json remembers the key and the highest version seen, so "
                "that no server goes back behind it (--forget removes that, too).");
}

TEST_F(StoreReports, DamageIsUnhealthyAndOtherErrorsAreTheirOwn) {
  EXPECT_EQ(exit_of_store_error(pack::as_damage({ErrorKind::bad_input, "record", 0})),
            Exit::unhealthy);
  EXPECT_EQ(exit_of_store_error({ErrorKind::bad_input, "number", 0}), Exit::usage);
  EXPECT_EQ(exit_of_store_error({ErrorKind::busy, "lock", 0}), Exit::unknown);
  EXPECT_EQ(exit_of_store_error(pack::as_damage({ErrorKind::busy, "lock", 0})), Exit::unknown);
  EXPECT_EQ(exit_of_store_error({ErrorKind::cancelled, "Ctrl-C", 0}), Exit::interrupted);
}

// A release that is not trusted is unhealthy; one that cannot be read is its own error.
TEST_F(StoreReports, AnUntrustedReleaseIsUnhealthy) {
  EXPECT_EQ(exit_of_release_error({ErrorKind::bad_input, "the signature is wrong", 0}),
            Exit::unhealthy);
  EXPECT_EQ(exit_of_release_error({ErrorKind::busy, "lock", 0}), Exit::unknown);
  EXPECT_EQ(exit_of_release_error({ErrorKind::cancelled, "Ctrl-C", 0}), Exit::interrupted);
}

// Any of several, wherever it stands.
TEST_F(StoreReports, OneProblemOfOnePackageIsUnhealthy) {
  std::vector<PackageState> packages(3);
  EXPECT_EQ(exit_of(packages), Exit::ok);
  packages[1].problems = {"added"};
  EXPECT_EQ(exit_of(packages), Exit::unhealthy);
}

TEST_F(StoreReports, TheTerminalMarksTheCurrentVersion) {
  PackageState state{"/store", 2, {}, {"lib/a: changed"}};
  for (const auto& [number, version] : {std::pair(1, "1.0"), {2, "1.1"}}) {
    auto& each = state.installed.emplace_back();
    each.number = static_cast<std::uint64_t>(number);
    each.name = "libs";
    each.version = version;
    each.variant = "cpu";
    each.installed_utc = "2026-01-01T00:00:00Z";
  }
  Envelope envelope;
  envelope.conclusion = "1 problem.";
  EXPECT_EQ(render_terminal(std::vector{state}, envelope, {}),
            R"(/store
     No.  Package  Version  Variant  Installed
       1  libs     1.0      cpu      2026-01-01T00:00:00Z
  *    2  libs     1.1      cpu      2026-01-01T00:00:00Z
  [x] lib/a: changed
1 problem.
)");
}

}  // namespace
}  // namespace gpuready
