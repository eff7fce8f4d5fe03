// Installing from an HTTP server that is good, and from ones that are not.
#include <thread>

#include "http/curl_library.h"
#include "http/http_answer.h"
#include "http/url_stream.h"
#include "jobs/running_job.h"
#include "pack/store/fetch.h"
#include "unit/products/pack/workshop.h"

namespace gpuready::pack {
namespace {

const Workshop::Files kFiles = {{"big", noise(300'000, 5)},
                                {"small", "hello"},
                                {"link", "-> big"},
                                {"other", noise(40'000, 6)}};

std::string error_text_of(const InstallOutcome& outcome) {
  return outcome.error ? outcome.error->message : "";
}

class Http : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto library = curl_library(); !library) GTEST_SKIP() << library.error().message;
    ASSERT_EQ(error_text(shop_.publish("1.0", {{"cpu", kFiles}})), "");
    Job job;
    job.program = "python3";
    job.args = {std::string(GPUREADY_SOURCE_DIR) + "/tests/unit/products/pack/hostile_server.py",
                shop_.root + "/release", "3"};
    job.channel = true;
    auto server = RunningJob::start(job);
    ASSERT_TRUE(server) << error_text(server);
    server_.emplace(std::move(*server));
    const auto until = deadline_in(std::chrono::seconds(20));
    while (port_.empty() && Clock::now() < until && !server_->finished()) {
      poll_jobs({&*server_}, deadline_in(std::chrono::milliseconds(50)));
      for (const auto& line : server_->take_lines(kOut)) port_ = line;
    }
    ASSERT_FALSE(port_.empty());
    shop_.origin_options.pause = std::chrono::milliseconds(1);
    shop_.origin_options.stall = std::chrono::seconds(1);
    shop_.origin_options.attempts = 3;
  }
  void TearDown() override {
    if (server_) server_->kill();
  }

  std::string url(const std::string& how) const { return "http://127.0.0.1:" + port_ + "/" + how; }
  InstallOutcome install(const std::string& how) {
    auto options = shop_.options();
    options.at_once = 1;  // what goes wrong first has one order
    return shop_.install("cpu", options, url(how));
  }

  void expect_installed(const std::string& how) {
    const auto outcome = install(how);
    ASSERT_EQ(outcome.end, InstallEnd::installed)
        << how << ": " << (outcome.error ? outcome.error->message : "");
    EXPECT_TRUE(shop_.installed("big") == kFiles.at("big"));
    EXPECT_EQ(shop_.installed("small"), "hello");
  }
  void expect_error(const std::string& how, const std::string& part) {
    const auto outcome = install(how);
    EXPECT_NE(outcome.end, InstallEnd::installed) << how;
    ASSERT_TRUE(outcome.error) << how;
    EXPECT_NE(outcome.error->message.find(part), std::string::npos)
        << how << ": " << outcome.error->message;
    EXPECT_FALSE(std::filesystem::exists(shop_.root + "/store/current")) << how;
  }

  Workshop shop_;
  std::optional<RunningJob> server_;
  std::string port_;
};

TEST_F(Http, InstallsByRanges) {
  const auto outcome = install("good");
  ASSERT_EQ(outcome.end, InstallEnd::installed) << error_text_of(outcome);
  EXPECT_FALSE(outcome.without_ranges);
}
TEST_F(Http, InstallsThroughRedirects) { expect_installed("redirect"); }
TEST_F(Http, GoesOnWhereAConnectionBroke) { expect_installed("flaky"); }
TEST_F(Http, AManifestThatWasCutIsAskedForAgain) { expect_installed("cutmanifest"); }
TEST_F(Http, OneOfNoKnownLengthToo) { expect_installed("cutchunked"); }
TEST_F(Http, AManifestThatDripsIsLeft) {
  shop_.origin_options.small_file = std::chrono::seconds(3);
  expect_error("drip", "manifest.json: the server is too slow");
}
TEST_F(Http, ReadsTheWholeWhereThereAreNoRanges) {
  const auto first = install("norange");
  ASSERT_EQ(first.end, InstallEnd::installed) << error_text_of(first);
  EXPECT_TRUE(first.without_ranges);
  EXPECT_TRUE(shop_.installed("big") == kFiles.at("big"));
  EXPECT_EQ(shop_.installed("small"), "hello");
  // The second time nothing is missing.
  EXPECT_EQ(install("norange").end, InstallEnd::unchanged);
}
TEST_F(Http, NamesWhatIsWrong) {
  expect_error("none/x", "404");
  expect_error("loop", "redirect");
  expect_error("error", "503");
  expect_error("gzip", "encoded (gzip)");
  expect_error("wrongrange", "were asked for");
  expect_error("length", "bytes on the server, and ");
  expect_error("cut", "after byte");
  expect_error("changed", "was changed on the server");
  // A good server then finds all that was fetched by then, and nothing bad.
  expect_installed("good");
}
// What is not the file is a download that failed, and may be tried again. What is it, by its
// length, and has another hash is not trusted.
TEST_F(Http, DamageOnTheWayIsMendedAndTheRestIsNotTrusted) {
  expect_error("page", "web page in place of the file");
  EXPECT_EQ(install("page").end, InstallEnd::failed);
  EXPECT_EQ(install("openpage").end, InstallEnd::failed);
  expect_error("short", "were asked for");
  EXPECT_EQ(install("short").end, InstallEnd::failed);
  for (const char* how : {"length", "wrongrange", "cut"})
    EXPECT_EQ(install(how).end, InstallEnd::failed) << how;
  expect_error("damaged", "(fetched 3 times)");
  EXPECT_EQ(install("damaged").end, InstallEnd::refused);
  std::filesystem::remove_all(shop_.root + "/store");
  expect_installed("damagedonce");
}
TEST_F(Http, SlowServerIsLeft) { expect_error("slow", "after byte"); }
TEST_F(Http, MoreThanWasAskedForIsNotTaken) {
  const auto outcome = install("longer");
  EXPECT_EQ(outcome.end, InstallEnd::installed) << (outcome.error ? outcome.error->message : "");
  EXPECT_TRUE(shop_.installed("big") == kFiles.at("big"));
}
TEST_F(Http, NobodyThere) {
  const auto outcome = shop_.install("cpu", shop_.options(), "http://127.0.0.1:1/x");
  ASSERT_TRUE(outcome.error);
  EXPECT_NE(outcome.error->message.find("127.0.0.1"), std::string::npos) << outcome.error->message;
}
TEST_F(Http, OnlyTheWebAndFiles) {
  for (const std::string where : {"ftp://127.0.0.1/x", "dict://x/y", "http://x/y?z=1"})
    EXPECT_FALSE(open_origin(*shop_.host, where)) << where;
  const auto origin = open_origin(*shop_.host, "https://user:secret@example.invalid/x");
  ASSERT_TRUE(origin) << error_text(origin);
  EXPECT_EQ((*origin)->where(), "https://example.invalid/x/");
}
TEST_F(Http, InterruptedFetchKeepsWhatIsWhole) {
  std::atomic<bool> cancel = false;
  auto options = shop_.options();
  options.cancel = &cancel;
  options.at_once = 1;
  options.progress = [&](std::string_view, std::uint64_t done, std::uint64_t) {
    cancel = done > 200'000;
  };
  const auto first = shop_.install("cpu", options, url("good"));
  ASSERT_TRUE(first.error);
  EXPECT_EQ(first.error->kind, ErrorKind::cancelled);
  cancel = false;
  options.progress = {};
  const auto second = shop_.install("cpu", options, url("good"));
  EXPECT_EQ(second.end, InstallEnd::installed);
}

// RFC 3986: a query belongs to what the server is asked for, a fragment does not.
TEST(FileUrls, AFileHasAFolderAndAName) {
  struct Row {
    const char *url, *folder, *name, *shown_name;
  };
  for (const auto& [url, folder, name, shown_name] : {
           Row{"https://host/a/b.run", "https://host/a", "b.run", "b.run"},
           Row{"http://host/b", "http://host", "b", "b"},
           Row{"https://u:p@host:8/b.run", "https://u:p@host:8", "b.run", "b.run"},
           Row{"https://host/a/b.run?token=x/y#top", "https://host/a", "b.run?token=x/y", "b.run"},
           Row{"https://host/b#top/x", "https://host", "b", "b"},
       }) {
    const auto file = split_url(url);
    ASSERT_TRUE(file) << url;
    EXPECT_EQ(file->folder, folder);
    EXPECT_EQ(file->name, name);
    EXPECT_EQ(file->shown_name, shown_name);
  }
  for (const std::string url :
       {"", "b.run", "/a/b.run", "ftp://host/b.run", "https://", "https://host", "https://host/",
        "https://host/a/", "https://host/?b", "https://host?a/b", "https://host/a/#b", "#a", "?",
        "https:///b.run"}) {
    const auto refused = split_url(url);
    ASSERT_FALSE(refused) << url;
    EXPECT_EQ(refused.error().kind, ErrorKind::bad_input) << url;
  }
  EXPECT_EQ(split_url("https://u:p@host/").error().message,
            "https://host/: expected the URL of a file");
}

TEST(HttpAnswer, ReadsWhatRangesAreCheckedBy) {
  HttpAnswer answer;
  for (const char* line :
       {"HTTP/1.1 302 Found", "Location: /x", "ETag: \"old\"", "HTTP/1.1 206 Partial",
        "content-RANGE: bytes 5-9/100", "etag: W/\"a\"", "Content-Encoding: GZIP"})
    answer.add(line);
  EXPECT_EQ(answer.status, 206);
  EXPECT_EQ(answer.etag, "W/\"a\"");
  EXPECT_EQ(answer.encoding, "gzip");
  ASSERT_TRUE(answer.range);
  EXPECT_EQ(answer.range->first, 5u);
  EXPECT_EQ(answer.range->last, 9u);
  EXPECT_EQ(answer.range->total, 100u);
  for (const char* bad : {"", "bytes", "bytes 9-5/100", "bytes 5-9/9", "bytes 5-9", "items 1-2/3",
                          "bytes -5/9", "bytes 1-99999999999999999999/5"})
    EXPECT_FALSE(parse_content_range(bad)) << bad;
  EXPECT_FALSE(parse_content_range("bytes 0-4/*")->total);
}

}  // namespace
}  // namespace gpuready::pack
