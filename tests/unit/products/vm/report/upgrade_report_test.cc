// What an upgrade tests, in which order, and when it makes the new bundle the current one.
#include "vm/report/upgrade_report.h"

#include <gtest/gtest.h>

#include "unit/products/vm/driver_folder.h"
#include "vm/report/exit_rules.h"
#include "vm/report/make_reports.h"

namespace gpuready {
namespace {

using vm::TestResult;

class Switching : public testing::Test {
 protected:
  // A bundle of this version in the folder of bundles.
  void add(const std::string& version) {
    vm::write_driver(folder_, "driver-" + version + "/", version);
    std::filesystem::create_directories(folder_.path("bundles"));
    const auto made =
        vm::collect_bundle({.from = {folder_.path("driver-" + version)}},
                           folder_.path("bundles/" + version), *host_, live_storage());
    ASSERT_TRUE(made) << made.error().message;
  }
  UpgradeReport report_of(const std::string& version, bool added) {
    UpgradeReport report;
    report.folder = folder_.path("bundles");
    const auto folder = folder_.path("bundles/" + version);
    report.bundle = {folder, vm::open_bundle(*host_, folder).value()};
    report.added = added;
    report.from = vm::current_bundle(*host_, report.folder).value();
    return report;
  }
  // "files+ CUDA- ...", "!" for an error; what is current then.
  std::string switched(UpgradeReport report, const std::optional<std::string>& program = {}) {
    const auto done =
        test_and_switch(*host_, live_storage(), report, program, std::chrono::seconds(20));
    std::string text = done ? "" : "! ";
    for (const auto& test : report.tests)
      text += test.name + (test.result == TestResult::passed   ? "+ "
                           : test.result == TestResult::failed ? "- "
                                                               : "? ");
    last_ = report;
    return text + "-> " + vm::current_bundle(*host_, report.folder)->value_or("none");
  }
  std::string program(const std::string& script) {
    folder_.write("program", "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(folder_.path("program"), std::filesystem::perms::owner_all);
    return folder_.path("program");
  }

  TestFolder folder_;
  std::unique_ptr<Host> host_ = vm::test_host();
  UpgradeReport last_;
};

std::string shown(const vm::BundleDiff& diff) {
  UpgradeReport report;
  report.diff = diff;
  return render_terminal(report, {});
}

TEST(UpgradeText, CudaIsShownWhereItDiffersAndTheNewOneIsKnown) {
  const auto line = [](const char* from, const char* to) {
    vm::BundleDiff diff;
    diff.from_cuda = from;
    diff.to_cuda = to;
    const auto text = shown(diff);
    const auto at = text.find("CUDA: ");
    return at == text.npos ? "" : text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(line("12.8", "13.0"), "CUDA: 12.8 -> 13.0");
  EXPECT_EQ(line("", "13.0"), "CUDA: ? -> 13.0");
  EXPECT_EQ(line("13.0", "13.0"), "");
  EXPECT_EQ(line("13.0", ""), "");
  EXPECT_EQ(line("", ""), "");
}

TEST(UpgradeText, EightNamesOfAListAreShown) {
  const auto text = [](std::size_t count) {
    vm::BundleDiff diff;
    for (std::size_t i = 1; i <= count; ++i) diff.added.push_back("f" + std::to_string(i));
    return shown(diff);
  };
  EXPECT_EQ(text(0).find("added"), std::string::npos);
  EXPECT_NE(text(1).find("added: f1\n"), std::string::npos) << text(1);
  EXPECT_NE(text(8).find("added: f1, f2, f3, f4, f5, f6, f7, f8\n"), std::string::npos) << text(8);
  EXPECT_NE(text(9).find("added: f1, f2, f3, f4, f5, f6, f7, f8 and 1 more\n"), std::string::npos)
      << text(9);
}

// The rules of test_diff() and test_gpus() have tests of their own.
TEST_F(Switching, TheFirstBundleIsComparedWithNone) {
  add("580.65.06");
  EXPECT_EQ(switched(report_of("580.65.06", true)), "parts+ files+ libraries+ GPUs? -> 580.65.06");
  EXPECT_TRUE(last_.switched);
  EXPECT_FALSE(last_.diff);
  EXPECT_EQ(exit_of(last_), Exit::ok);
}

TEST_F(Switching, ANewBundleServesWhatTheCurrentOneServes) {
  add("570.86.16");
  switched(report_of("570.86.16", true));
  add("580.65.06");
  EXPECT_EQ(switched(report_of("580.65.06", true)),
            "parts+ files+ libraries+ GPUs? names+ kernels+ CUDA+ -> 580.65.06");
  ASSERT_TRUE(last_.diff);
  EXPECT_EQ(last_.diff->from, "570.86.16");
  EXPECT_EQ(last_.diff->to, "580.65.06");
}

TEST_F(Switching, AnOlderBundleIsRefusedAsNewAndTakenAsTheWayBack) {
  add("580.65.06");
  switched(report_of("580.65.06", true));
  add("570.86.16");
  EXPECT_EQ(switched(report_of("570.86.16", true)),
            "parts+ files+ libraries+ GPUs? names+ kernels+ CUDA- -> 580.65.06");
  EXPECT_FALSE(last_.switched);
  EXPECT_EQ(exit_of(last_), Exit::unhealthy);
  EXPECT_EQ(switched(report_of("570.86.16", false)), "parts+ files+ libraries+ GPUs? -> 570.86.16");
  EXPECT_TRUE(last_.diff) << "it is shown all the same";
}

TEST_F(Switching, TheCurrentBundleIsNotComparedWithItself) {
  add("580.65.06");
  switched(report_of("580.65.06", true));
  EXPECT_EQ(switched(report_of("580.65.06", true)), "parts+ files+ libraries+ GPUs? -> 580.65.06");
  EXPECT_FALSE(last_.diff);
}

TEST_F(Switching, ACurrentBundleThatCannotBeReadIsAnError) {
  add("570.86.16");
  switched(report_of("570.86.16", true));
  add("580.65.06");
  const auto report = report_of("580.65.06", true);
  folder_.write("bundles/570.86.16/bundle.json", "{");
  EXPECT_EQ(switched(report), "! parts+ files+ libraries+ GPUs? -> 570.86.16");
}

TEST_F(Switching, TheProgramIsTheLastTest) {
  add("580.65.06");
  const auto bundle = folder_.path("bundles/580.65.06");
  EXPECT_EQ(switched(report_of("580.65.06", true), program("exit 3")),
            "parts+ files+ libraries+ GPUs? command- -> none");
  EXPECT_FALSE(last_.switched);
  EXPECT_EQ(switched(report_of("580.65.06", true), program("[ \"$*\" = " + bundle + " ]")),
            "parts+ files+ libraries+ GPUs? command+ -> 580.65.06");
}

TEST_F(Switching, TheProgramIsNotRunWhereAnotherTestFailed) {
  add("580.65.06");
  auto report = report_of("580.65.06", true);
  folder_.write("bundles/580.65.06/" + report.bundle.bundle.files.front().path, "changed");
  EXPECT_EQ(switched(report, program("touch " + folder_.path("ran"))),
            "parts+ files- libraries+ GPUs? -> none");
  EXPECT_FALSE(std::filesystem::exists(folder_.path("ran")));
}

TEST_F(Switching, ErrorsOfBundlesHaveTheirOwnExitCodes) {
  for (const auto& [kind, exit] : {std::pair(ErrorKind::cancelled, Exit::interrupted),
                                   {ErrorKind::busy, Exit::unknown},
                                   {ErrorKind::bad_input, Exit::usage},
                                   {ErrorKind::not_found, Exit::usage},
                                   {ErrorKind::no_permission, Exit::usage}})
    EXPECT_EQ(exit_of_bundle_error({kind, "", 0}), exit) << to_string(kind);
}

}  // namespace
}  // namespace gpuready
