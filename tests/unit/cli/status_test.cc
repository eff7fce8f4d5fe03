// What `check` and `test` keep, and what `status` reads of it.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "cli/run_tests.h"
#include "unit/machine/scripted.h"
#include "unit/report/healthy.h"
#include "unit/test_folder.h"

namespace gpuready::cli {
namespace {

class KeptStatus : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_.path(name); }

 private:
  TestFolder folder_;
};

TEST_F(KeptStatus, ALockIsWaitedForUpToItsPatience) {
  using std::chrono::milliseconds;
  const auto held = wait_for_lock(at("lock"), milliseconds(0));
  ASSERT_TRUE(held) << "a free one needs no patience";
  const auto refused = wait_for_lock(at("lock"), milliseconds(0));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::busy);
}

// Monitoring reads it as another user.
TEST_F(KeptStatus, ResultsAreKeptForAllToRead) {
  const mode_t mask = ::umask(0);
  const auto kept = keep_results(at("results.json"), healthy(1), {});
  ::umask(mask);
  ASSERT_TRUE(kept) << kept.error().message;
  struct stat facts{};
  ASSERT_EQ(::stat(at("results.json").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0644u);
}

// Or no test would count until a user deletes this machine's own. One that the user named may be
// something else.
TEST_F(KeptStatus, AFileThatIsDamagedIsReplacedUnlessItWasNamed) {
  const auto host =
      scripted(R"("files":{"/kept/bad.json":"{}","/kept/other.json":{"error":"EACCES"}})");
  const auto before = [&](const char* path, bool named) {
    testing::internal::CaptureStderr();
    auto kept = kept_before(*host, path, named);
    return std::pair(std::move(kept), testing::internal::GetCapturedStderr());
  };
  for (const bool named : {false, true}) {
    const auto [absent, silence] = before("/kept/new.json", named);
    ASSERT_TRUE(absent);
    EXPECT_TRUE(absent->results.empty());
    EXPECT_EQ(silence, "");
    const auto [unread, nothing] = before("/kept/other.json", named);
    ASSERT_FALSE(unread) << "what cannot be read may be whole";
    EXPECT_NE(unread.error().kind, ErrorKind::bad_input);
    EXPECT_EQ(nothing, "");
  }
  const auto [replaced, said] = before("/kept/bad.json", false);
  ASSERT_TRUE(replaced);
  EXPECT_TRUE(replaced->results.empty());
  EXPECT_EQ(said, "gpuready: /kept/bad.json does not hold results that gpuready kept; delete it\n");
  const auto [refused, unsaid] = before("/kept/bad.json", true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(unsaid, "");
}

// About this machine; of a recorded one only a file that is named says something.
TEST_F(KeptStatus, ThisMachinesResultsAreNotThoseOfARecording) {
  const auto host = scripted(R"("files":{")" + std::string(kKeptResultsFile) +
                             R"(":"{}","/srv/results.json":"{}"})");
  const auto is_read = [&](std::optional<std::string> replay, const std::string& path) {
    Globals globals;
    globals.replay = std::move(replay);
    return !kept_of_seen_machine(*host, globals, path);  // both are damaged
  };
  EXPECT_TRUE(is_read(std::nullopt, kKeptResultsFile));
  EXPECT_TRUE(is_read(std::nullopt, "/srv/results.json"));
  EXPECT_FALSE(is_read("recording", kKeptResultsFile));
  EXPECT_TRUE(is_read("recording", "/srv/results.json"));
}

TEST_F(KeptStatus, OnlyThisMachinesMissingFolderIsToBeMade) {
  constexpr const char* kAdvice = "never tested: run mkdir /var/lib/gpuready, then gpuready check";
  const auto line = [](const char* machine, const std::string& file) {
    const auto status = read_status(*scripted(machine), file, 3600);
    return status ? status->line : status.error().message;
  };
  constexpr const char *kNothing = R"("files":{})",
                       *kFolder = R"("files":{"/var/lib/gpuready/results.json.lock":""})";
  EXPECT_EQ(line(kNothing, kKeptResultsFile), kAdvice);
  EXPECT_NE(line(kFolder, kKeptResultsFile), kAdvice);
  EXPECT_NE(line(kNothing, "/srv/results.json"), kAdvice);
  EXPECT_TRUE(line(kFolder, kKeptResultsFile).starts_with("never tested"));
  EXPECT_TRUE(line(kNothing, "/srv/results.json").starts_with("never tested"));
}

}  // namespace
}  // namespace gpuready::cli
