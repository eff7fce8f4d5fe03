// What goes to standard error and to GitHub's summary.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/text.h"
#include "cli/options.h"
#include "unit/report/healthy.h"
#include "unit/test_folder.h"

namespace gpuready::cli {
namespace {

std::string complaint(std::string_view message) {
  testing::internal::CaptureStderr();
  complain(message);
  return testing::internal::GetCapturedStderr();
}

TEST(Complaints, OfSeveralLinesAreOneMessage) {
  ::unsetenv("GITHUB_ACTIONS");
  EXPECT_EQ(complaint("no"), "gpuready: no\n");
  EXPECT_EQ(complaint("a\nb\n\nc"), "gpuready: a\n  b\n  \n  c\n");
  EXPECT_EQ(complaint("\x1b[2J"), "gpuready: ?[2J\n");
  EXPECT_EQ(complaint("##[group]"), "gpuready: ##[group]\n");
}

TEST(Complaints, AreNoCommandsToGitHubsRunner) {
  ::setenv("GITHUB_ACTIONS", "true", 1);
  EXPECT_EQ(complaint("a\n::error::b"), "gpuready: a\n  : :error::b\n");
  EXPECT_EQ(complaint("##[group]"), "gpuready: # #[group]\n");
  ::setenv("GITHUB_ACTIONS", "false", 1);
  EXPECT_EQ(complaint("##[group]"), "gpuready: ##[group]\n");
  ::unsetenv("GITHUB_ACTIONS");
}

TEST(Complaints, OfErrorsGiveTheirExitCode) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(complain(Error{ErrorKind::not_found, "no such file"}), 2);
  EXPECT_EQ(complain(Error{ErrorKind::not_found, "no GPU"}, Exit::required_absent), 3);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "gpuready: no such file\ngpuready: no GPU\n");
}

class GitHubSummary : public testing::Test {
 protected:
  static constexpr std::size_t kMost = 1 << 20;  // a longer one is discarded by GitHub
  GitHubSummary() {
    report_.conclusion = "1 of 1 GPU is ready for work.";
    report_.notes.emplace_back(3000, 'x');
    name(folder_.path("summary.md"));
  }
  ~GitHubSummary() override { ::unsetenv("GITHUB_STEP_SUMMARY"); }
  static void name(const std::string& path) { ::setenv("GITHUB_STEP_SUMMARY", path.c_str(), 1); }
  bool write() {
    testing::internal::CaptureStderr();
    const bool written = write_for_github(report_);
    said_ = testing::internal::GetCapturedStderr();
    return written;
  }
  // What is added to a summary that holds this many bytes.
  std::string added_after(std::size_t bytes) {
    folder_.write("summary.md", std::string(bytes, 'y'));
    EXPECT_TRUE(write()) << said_;
    return folder_.read("summary.md").substr(bytes);
  }

  TestFolder folder_;
  Report report_ = healthy(1);
  std::string said_;
};

TEST_F(GitHubSummary, GetsTheReportAtItsEnd) {
  EXPECT_TRUE(write());
  EXPECT_EQ(folder_.read("summary.md"), render_markdown(report_)) << "a missing one is created";
  EXPECT_EQ(added_after(10), render_markdown(report_));
}

TEST_F(GitHubSummary, NeedsTheVariable) {
  ::unsetenv("GITHUB_STEP_SUMMARY");
  EXPECT_TRUE(write());
  name("");
  EXPECT_TRUE(write());
  EXPECT_EQ(said_, "");
  EXPECT_EQ(folder_.count(), 0u);
}

TEST_F(GitHubSummary, ThatCannotBeWrittenIsReported) {
  name(folder_.path("no/summary.md"));
  EXPECT_FALSE(write());
  EXPECT_TRUE(contains(said_, "gpuready: ")) << said_;
  EXPECT_TRUE(contains(said_, folder_.path("no/summary.md"))) << said_;
}

TEST_F(GitHubSummary, HoldsOnlyTheConclusionWhereTheReportDoesNotFit) {
  const std::string whole = render_markdown(report_);
  const std::string brief =
      "1 of 1 GPU is ready for work.\n\nThe whole report is too long for this "
      "summary.\n";
  EXPECT_EQ(added_after(kMost - whole.size()), whole);
  EXPECT_EQ(added_after(kMost - whole.size() + 1), brief);
  EXPECT_EQ(added_after(kMost - brief.size()), brief);
  folder_.write("summary.md", std::string(kMost - brief.size() + 1, 'y'));
  EXPECT_FALSE(write());
  EXPECT_EQ(said_,
            "gpuready: " + folder_.path("summary.md") + " is full: GitHub takes at most 1 MiB\n");
  EXPECT_EQ(folder_.read("summary.md").size(), kMost - brief.size() + 1);
}

}  // namespace
}  // namespace gpuready::cli
