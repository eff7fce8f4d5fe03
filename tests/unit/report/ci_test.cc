// JUnit and GitHub's annotations say what the exit code says.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "report/report.h"
#include "unit/report/samples.h"

namespace gpuready {
namespace {

TEST(Ci, JUnitFailsExactlyWhenTheCommandDoes) {
  for (const auto& [name, report] : samples::all()) {
    const std::string xml = render_junit(report);
    const bool failed = report.exit == Exit::unhealthy || report.exit == Exit::required_absent;
    const bool error = report.exit == Exit::unknown || report.exit == Exit::interrupted;
    if (failed) {
      EXPECT_FALSE(contains(xml, " failures=\"0\"")) << name;
    } else if (error) {
      EXPECT_FALSE(contains(xml, " errors=\"0\"")) << name;
    } else if (report.exit == Exit::ok) {
      EXPECT_TRUE(contains(xml, " failures=\"0\" errors=\"0\"")) << name << xml.substr(0, 300);
    }
  }
}

TEST(Ci, NotTestedIsSkippedAndFailedIsNamed) {
  const std::string xml = render_junit(samples::eight());
  EXPECT_TRUE(contains(xml, "<failure type=\"memory\" message=\"")) << xml;
  EXPECT_TRUE(contains(xml, "classname=\"GPU "));
  auto report = samples::healthy();
  report.verdicts->front().status = VerdictStatus::not_supported;
  report.verdicts->front().reason = "no \"such\" <unit>";
  EXPECT_TRUE(contains(render_junit(report),
                       "<skipped message=\"no &quot;such&quot; &lt;unit&gt;\"/></testcase>"));
}

TEST(Ci, AFailureHasEvidenceCureAndCommand) {
  auto report = samples::healthy();
  Finding finding;
  finding.id = "a-cause";
  finding.severity = Severity::error;
  finding.title = "It is \"broken\"";
  finding.evidence = {{"kernel log", "<1>\na & b\x01"}, {"NVML", "code 15"}};
  finding.cure = "Reset it.";
  finding.command = "reset --now && true";
  report.findings->assign(1, finding);
  report.exit = Exit::unhealthy;
  EXPECT_TRUE(contains(
      render_junit(report),
      "name=\"a-cause\" time=\"0.000\"><failure type=\"a-cause\" "
      "message=\"It is &quot;broken&quot;\">kernel log: &lt;1&gt; a &amp; b?\nNVML: code 15\n"
      "Cure: Reset it.\nCommand: reset --now &amp;&amp; true\n</failure></testcase>\n"))
      << render_junit(report);
}

TEST(Ci, JUnitIsXmlWhateverANameHolds) {
  auto report = samples::healthy();
  report.verdicts->front().status = VerdictStatus::not_supported;
  report.verdicts->front().reason = "a\x01\ufffe\xff\uffff\U0001F600";
  EXPECT_TRUE(contains(render_junit(report), "<skipped message=\"a????\U0001F600\"/>"));
}

TEST(Ci, NoLineOfTextIsACommandToTheRunner) {
  EXPECT_EQ(without_workflow_commands("::error::a\n  ::add-mask::b\n\u2003::c\n"),
            ": :error::a\n  : :add-mask::b\n\u2003: :c\n");
  EXPECT_EQ(without_workflow_commands("GPU 0 at ##[error]x"), "GPU 0 at # #[error]x");
  for (const char* kept : {"", "fe80::1\n", "a ::error::b", "#[x] # [", "\n\n"})
    EXPECT_EQ(without_workflow_commands(kept), kept);
}

TEST(Ci, AnnotationsAreTenOfAKindAndOneLineEach) {
  EXPECT_EQ(render_annotations(samples::healthy()), "");
  Report report = samples::eight();
  Finding finding;
  finding.id = "a:b,c";
  finding.title = "100%\nsure::error::";
  report.findings->assign(30, finding);
  finding.severity = Severity::warning;
  report.findings->push_back(finding);
  const std::string text = render_annotations(report);
  const auto all = lines(text);
  EXPECT_EQ(std::ranges::count_if(all, [](auto line) { return line.starts_with("::error "); }), 10);
  for (const auto line : all)
    EXPECT_TRUE(line.starts_with("::error ") || line.starts_with("::warning ")) << line;
  EXPECT_TRUE(contains(text, "::warning title=a%3Ab%2Cc::100%25")) << text;
}

}  // namespace
}  // namespace gpuready
