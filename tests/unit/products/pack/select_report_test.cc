// What `pack select` says, whole, and what of it goes to pip's users.
#include "pack/report/select_report.h"

#include <gtest/gtest.h>

#include "unit/products/pack/gpus.h"

namespace gpuready {
namespace {

using namespace pack;

SelectReport report_of(std::string_view gpus) {
  SelectReport report{"torch", "1.2", {}};
  auto& [machine, selection] = report.decision;
  machine.gpus = gpus_of(gpus);
  selection.reason = "As the rules say.";
  return report;
}

using Gpus = std::vector<std::size_t>;
using Texts = std::vector<std::string>;
ConsideredVariant considered(const std::string& name, bool chosen, Gpus serves, Gpus by_jit = {},
                             Texts problems = {}, const std::string& why_not = "") {
  ConsideredVariant variant;
  variant.name = name;
  variant.chosen = chosen;
  variant.serves = std::move(serves);
  variant.by_jit = std::move(by_jit);
  variant.problems = std::move(problems);
  variant.why_not = why_not;
  return variant;
}

std::string shown(const SelectReport& report, const TerminalStyle& style = {}) {
  Envelope envelope;
  conclude(report, envelope);
  EXPECT_EQ(envelope.conclusion, report.decision.selection.reason);
  return render_terminal(report, envelope, style);
}

TEST(SelectReport, EachVariantIsShownWithWhatItServesAndWhyItIsNotChosen) {
  auto report = report_of("8.6,9.0,9.0");
  auto& selection = report.decision.selection;
  selection.variants = {"modern"};
  selection.model = "large";
  selection.model_note = "Its memory is not known.";
  selection.considered = {
      considered("modern", true, {0, 1, 2}),
      considered("compiled", false, {1, 2}, {2}, {"8.6: no code"}, "modern serves more GPUs"),
      considered("cpu", false, {}, {}, {"needs a processor x86-64-v4", "needs glibc 2.40"})};
  EXPECT_EQ(shown(report),
            "[ok] torch 1.2: As the rules say.\n"
            "  Model: large\n"
            "  Its memory is not known.\n"
            "  modern  chosen; serves 3 of 3 GPUs\n"
            "  compiled  serves 2 of 3 GPUs, 1 by compiling at the first start\n"
            "    - 8.6: no code\n"
            "    - not chosen: modern serves more GPUs\n"
            "  cpu  serves no GPU here\n"
            "    - needs a processor x86-64-v4\n"
            "    - needs glibc 2.40\n");
  EXPECT_EQ(shown(report, {.quiet = true}), "[ok] torch 1.2: As the rules say.\n");
}

TEST(SelectReport, WhatIsNotServedIsMarked) {
  const auto mark = [](const SelectReport& report) { return shown(report).substr(0, 4); };
  auto report = report_of("8.6");
  EXPECT_EQ(mark(report), "[x] ") << "nothing fits";
  report.decision.selection.variants = {"modern"};
  EXPECT_EQ(mark(report), "[ok]");
  report.decision.selection.unserved = {0};
  EXPECT_EQ(mark(report), "[!] ");
  report.decision.selection.unserved.clear();
  report.decision.selection.for_cpu = true;
  EXPECT_EQ(mark(report), "[!] ");
}

TEST(SelectReport, PipsUsersHearOnlyWhatTheBuildLeavesOut) {
  auto report = report_of("8.6,9.0,9.0,3.5");
  auto& selection = report.decision.selection;
  selection.variants = {"cu126"};
  selection.considered = {considered("cu126", true, {0, 1, 2}), considered("cu130", false, {1, 2}),
                          considered("cpu", false, {})};
  EXPECT_EQ(pip_notes(report), Texts{});
  selection.unserved = {3};
  EXPECT_EQ(pip_notes(report), (Texts{"As the rules say.", "no build serves 3.5"}));
  selection.for_cpu = true;
  EXPECT_EQ(pip_notes(report), Texts{"As the rules say."});
  selection.unserved.clear();
  EXPECT_EQ(pip_notes(report), Texts{"As the rules say."});
}

TEST(SelectReport, ASecondBuildForPipNeedsAnEnvironmentOfItsOwn) {
  auto report = report_of("8.6,9.0,9.0,3.5,3.7");
  auto& selection = report.decision.selection;
  selection.variants = {"cu126", "cu130"};
  selection.considered = {considered("cu130", true, {1, 2}), considered("cu126", true, {0, 1}),
                          considered("cu128", false, {1, 2})};
  const Texts both = {"As the rules say.",
                      "cu130 serves 9.0: in an environment of its own, pip install torch "
                      "--index-url https://download.pytorch.org/whl/cu130",
                      "cu126 serves 8.6, 9.0"};
  EXPECT_EQ(pip_notes(report), both);
  selection.unserved = {3, 4};
  auto all = both;
  all.push_back("no build serves 3.5, 3.7");
  EXPECT_EQ(pip_notes(report), all);
}

}  // namespace
}  // namespace gpuready
