// A driver that hangs costs an error for the file that it hangs in, and no more.
#include "host/driver_answers.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/clock.h"
#include "base/text.h"

namespace gpuready {
namespace {

using std::chrono::milliseconds;

// Answers as the probe does: each path is its own content. Those with "hang" in their name are
// never answered, and "crash" is a crash.
constexpr const char* kHelper = R"SH(#!/bin/sh
echo >>"$0.starts"
shift 2
for path; do
  key="read($path)"
  echo "{\"call\":\"$key\"}" >&3
  case $path in
    *hang*) exec sleep 600 ;;
    *crash*) kill -SEGV $$ ;;
    *denied*) echo "{\"call\":\"$key\",\"code\":13}" >&3 ;;
    *) echo "{\"call\":\"$key\",\"code\":0,\"value\":\"$path\"}" >&3 ;;
  esac
done
echo '{"end":true}' >&3
)SH";

class DriverAnswersTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/gpuready-driver-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
    std::ofstream(folder + "/helper") << kHelper;
    chmod((folder + "/helper").c_str(), 0755);
    setenv("GPUREADY_HELPER", (folder + "/helper").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("GPUREADY_HELPER");
    std::system(("rm -rf " + folder).c_str());
  }
  std::size_t starts() const {
    std::ifstream file(folder + "/helper.starts");
    return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
  }
  ErrorKind kind_of(const std::string& path) const {
    const auto* answer = answers.find(path);
    return answer != nullptr && !*answer ? answer->error().kind : ErrorKind::io;
  }
  std::string folder;
  DriverAnswers answers{milliseconds(200)};
};

TEST_F(DriverAnswersTest, AllAreAskedByOneChild) {
  answers.ask({"/a", "/denied"});
  ASSERT_NE(answers.find("/a"), nullptr);
  EXPECT_EQ(*answers.find("/a"), "/a");
  EXPECT_EQ(kind_of("/denied"), ErrorKind::no_permission);
  EXPECT_EQ(answers.find("/denied")->error().code, EACCES);
  EXPECT_EQ(answers.find("/b"), nullptr) << "not asked";
  EXPECT_EQ(starts(), 1u);
}

TEST_F(DriverAnswersTest, OneThatHangsIsNamedAndTheOthersAreAnswered) {
  answers.ask({"/a", "/hang", "/b"});
  EXPECT_EQ(*answers.find("/a"), "/a");
  EXPECT_EQ(kind_of("/hang"), ErrorKind::timed_out);
  EXPECT_TRUE(contains(answers.find("/hang")->error().message, "/hang"));
  EXPECT_EQ(answers.find("/hang")->error().code, ETIMEDOUT);
  EXPECT_EQ(*answers.find("/b"), "/b");
}

TEST_F(DriverAnswersTest, ACrashCostsTheAnswerThatItHappenedIn) {
  answers.ask({"/crash", "/b"});
  EXPECT_EQ(kind_of("/crash"), ErrorKind::crashed);
  EXPECT_EQ(*answers.find("/b"), "/b");
}

TEST_F(DriverAnswersTest, ADriverThatHangsForAllIsNotAskedForAll) {
  answers.ask({"/hang1", "/hang2", "/hang3", "/hang4", "/e"});
  for (const char* path : {"/hang1", "/hang2", "/hang3", "/hang4", "/e"})
    EXPECT_EQ(kind_of(path), ErrorKind::timed_out) << path;
  EXPECT_EQ(starts(), 3u);
}

TEST_F(DriverAnswersTest, WithoutAHelperTheFileIsReadHere) {
  setenv("GPUREADY_HELPER", (folder + "/absent").c_str(), 1);
  std::ofstream(folder + "/file") << "content";
  const auto host = make_live_host();
  host->ask_driver({folder + "/file"});
  EXPECT_EQ(host->read_file(folder + "/file"), "content");
}

TEST_F(DriverAnswersTest, ALiveHostAnswersWhatTheChildSaid) {
  const auto host = make_live_host();
  host->ask_driver({"/not/there", "/denied"});
  EXPECT_EQ(host->read_file("/not/there"), "/not/there");
  EXPECT_EQ(host->read_file("/not/there", 10), "/not/there");
  EXPECT_EQ(host->read_file("/not/there", 9).error().kind, ErrorKind::too_large);
  EXPECT_EQ(host->read_file("/denied").error().kind, ErrorKind::no_permission);
  EXPECT_EQ(host->read_file("/not/asked").error().kind, ErrorKind::not_found);
}

}  // namespace
}  // namespace gpuready
