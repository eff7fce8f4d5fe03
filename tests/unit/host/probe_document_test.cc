#include "host/probe_document.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace gpuready {
namespace {

constexpr std::string_view kWhole = R"j({"probe":"nvml","version":1}
{"library":{"name":"libnvidia-ml.so.1","path":"/usr/lib/libnvidia-ml.so.1","real_path":"/usr/lib/libnvidia-ml.so.580.1"}}
{"call":"nvmlInit_v2()"}
{"call":"nvmlInit_v2()","code":0,"us":13500}
{"call":"nvmlDeviceGetName(0)","code":0,"value":"NVIDIA H200"}
{"call":"nvmlFoo(0)","missing":true}
{"call":"nvmlDeviceGetSerial(0)","code":3}
{"end":true}
)j";

TEST(ProbeDocument, ReadsWholeLines) {
  const auto document = probe_document_from_lines(kWhole, "nvml");
  EXPECT_EQ(document.outcome, ProbeOutcome::completed);
  EXPECT_EQ(document.library_real_path, "/usr/lib/libnvidia-ml.so.580.1");
  EXPECT_EQ(document.stopped_in, "");
  EXPECT_EQ(document.text("nvmlDeviceGetName(0)"), "NVIDIA H200");
  ASSERT_NE(document.find("nvmlFoo(0)"), nullptr);
  EXPECT_TRUE(document.find("nvmlFoo(0)")->missing);
  EXPECT_EQ(document.find("nvmlInit_v2()")->us, 13500);
  EXPECT_EQ(document.find("nvmlDeviceGetSerial(0)")->code, 3);
}

TEST(ProbeDocument, CutAnywhereNeverReadsAsComplete) {
  for (std::size_t size = 0; size + 2 < kWhole.size(); ++size) {
    const auto document = probe_document_from_lines(kWhole.substr(0, size), "nvml");
    EXPECT_NE(document.outcome, ProbeOutcome::completed) << size;
    EXPECT_EQ(document.probe, "nvml");
  }
}

TEST(ProbeDocument, NamesTheCallInWhichItStopped) {
  const auto at = kWhole.find("{\"call\":\"nvmlInit_v2()\",\"code\"");
  const auto document = probe_document_from_lines(kWhole.substr(0, at), "nvml");
  EXPECT_EQ(document.outcome, ProbeOutcome::crashed);
  EXPECT_EQ(document.stopped_in, "nvmlInit_v2()");
  EXPECT_EQ(document.find("nvmlInit_v2()"), nullptr);
}

TEST(ProbeDocument, NothingSaidMeansNotStarted) {
  EXPECT_EQ(probe_document_from_lines("", "cuda").outcome, ProbeOutcome::failed_to_start);
  EXPECT_EQ(probe_document_from_lines("Segmentation\n", "cuda").outcome,
            ProbeOutcome::failed_to_start);
}

TEST(ProbeDocument, AbsentLibraryIsTold) {
  const auto document = probe_document_from_lines(
      "{\"probe\":\"nvml\",\"version\":1}\n"
      "{\"library\":{\"name\":\"libnvidia-ml.so.1\",\"error\":\"cannot open\"}}\n{\"end\":true}\n",
      "nvml");
  EXPECT_EQ(document.outcome, ProbeOutcome::no_library);
  EXPECT_EQ(document.library_error, "cannot open");
}

TEST(ProbeDocument, ALaterLibraryThatLoadsWins) {
  const auto document = probe_document_from_lines(
      "{\"library\":{\"name\":\"a.so.1\",\"error\":\"cannot open\"}}\n"
      "{\"library\":{\"name\":\"a.so\",\"path\":\"/l/a.so\"}}\n{\"end\":true}\n",
      "nvml");
  EXPECT_EQ(document.outcome, ProbeOutcome::completed);
  EXPECT_EQ(document.library_name, "a.so");
}

TEST(ProbeDocument, IgnoresWhatIsNoJson) {
  const auto document = probe_document_from_lines(
      "driver says hello\n\xff\xfe\n{\"call\":\"f()\",\"code\":0}\n[1]\n7\n{\"end\":true}\n", "x");
  EXPECT_EQ(document.outcome, ProbeOutcome::completed);
  EXPECT_EQ(document.calls.size(), 1u);
}

TEST(ProbeDocument, CodeBeyondIntIsNoAnswer) {
  const auto document =
      probe_document_from_lines("{\"call\":\"f()\",\"code\":99999999999}\n{\"end\":true}\n", "x");
  EXPECT_EQ(document.find("f()"), nullptr);
}

TEST(ProbeDocument, ValuesOfFailedCallsAreNotValues) {
  const auto document = probe_document_from_lines(
      "{\"call\":\"f()\",\"code\":3,\"value\":7}\n{\"call\":\"g()\",\"code\":0,\"value\":-7}\n"
      "{\"call\":\"h()\",\"code\":0,\"value\":18446744073709551615}\n{\"end\":true}\n",
      "x");
  ProbeDocument built;
  built.calls["i()"].value = 7;  // a number that has a sign in C++
  EXPECT_EQ(built.unsigned_integer("i()"), 7u);
  EXPECT_EQ(document.integer("f()"), std::nullopt);
  EXPECT_EQ(document.integer("g()"), -7);
  EXPECT_EQ(document.unsigned_integer("g()"), std::nullopt);
  EXPECT_EQ(document.integer("h()"), std::nullopt);
  EXPECT_EQ(document.unsigned_integer("h()"), UINT64_MAX);
  EXPECT_EQ(document.text("g()"), std::nullopt);
  EXPECT_TRUE(document.value("never()").is_null());
}

TEST(ProbeDocument, JsonRoundTrip) {
  auto document = probe_document_from_lines(kWhole, "nvml");
  document.outcome = ProbeOutcome::hung;
  document.stopped_in = "nvmlDeviceGetSerial(0)";
  document.signal = 11;
  const Json stored = to_json(document);
  const auto again = probe_document_from_json(stored, "test");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(to_json(*again), stored);
  EXPECT_EQ(again->outcome, ProbeOutcome::hung);
  EXPECT_EQ(again->stopped_in, "nvmlDeviceGetSerial(0)");
  EXPECT_EQ(again->calls.size(), document.calls.size());
}

TEST(ProbeDocument, BadJsonIsRefusedByName) {
  for (const char* text :
       {"[]", "{}", R"j({"probe":7})j", R"j({"probe":"x","outcome":"fine"})j",
        R"j({"probe":"x","outcome":7})j", R"j({"probe":"x","calls":[]})j",
        R"j({"probe":"x","version":0})j", R"j({"probe":"x","version":"1"})j",
        R"j({"probe":"x","version":1.5})j", R"j({"probe":"x","version":99999999999})j",
        R"j({"probe":"x","calls":{"f()":{}}})j",
        R"j({"probe":"x","calls":{"f()":{"code":"0"}}})j"}) {
    const auto document = probe_document_from_json(*parse_json(text, "t"), "probes/x.json");
    ASSERT_FALSE(document) << text;
    EXPECT_EQ(document.error().kind, ErrorKind::bad_input);
    EXPECT_TRUE(document.error().message.starts_with("probes/x.json")) << document.error().message;
  }
}

TEST(ProbeDocument, AVersionIsAPositiveNumberAnd1WhereItIsNotGiven) {
  const auto version = [](const char* text) {
    const auto document = probe_document_from_json(*parse_json(text, "t"), "x.json");
    return document ? document->version : -1;
  };
  EXPECT_EQ(version(R"j({"probe":"x"})j"), 1);
  EXPECT_EQ(version(R"j({"probe":"x","version":1})j"), 1);
  EXPECT_EQ(version(R"j({"probe":"x","version":2})j"), 2);
}

TEST(ProbeWriter, WritesWhatTheReaderReads) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ProbeWriter writer(ends[1], "vulkan");
  writer.library("libvulkan.so.1", "/l/libvulkan.so.1", "/l/libvulkan.so.1.3");
  writer.begin("vkCreateInstance()");
  writer.answer("vkCreateInstance()", 0, Json{{"name", "bad \xff byte"}}, 12.5);
  writer.missing("vkNew()");
  writer.end();
  close(ends[1]);
  char text[4096];
  const ssize_t size = read(ends[0], text, sizeof text);
  close(ends[0]);
  ASSERT_GT(size, 0);
  const auto document = probe_document_from_lines({text, static_cast<std::size_t>(size)}, "vulkan");
  EXPECT_EQ(document.outcome, ProbeOutcome::completed);
  EXPECT_EQ(document.library_path, "/l/libvulkan.so.1");
  EXPECT_EQ(document.find("vkCreateInstance()")->us, 12.5);
  EXPECT_EQ(document.value("vkCreateInstance()").size(), 1u);
  EXPECT_TRUE(document.find("vkNew()")->missing);
}

}  // namespace
}  // namespace gpuready
