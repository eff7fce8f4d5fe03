// A recording's index and a probe's document that use every form, for tests/schema.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "host/recording/recording_codec.h"

namespace gpuready {
namespace {

ProbeDocument probe() {
  ProbeDocument document;
  document.probe = "nvml";
  document.outcome = ProbeOutcome::crashed;
  document.stopped_in = "nvmlDeviceGetHandleByIndex_v2(1)";
  document.signal = 11;
  document.library_name = "libnvidia-ml.so.1";
  document.library_path = document.library_real_path = "/usr/lib/libnvidia-ml.so.1";
  document.library_error = "none";
  document.calls["nvmlInit_v2()"] = {.code = 0, .missing = false, .value = nullptr, .us = 13500.0};
  document.calls["nvmlDeviceGetName(0)"] = {
      .code = 0, .missing = false, .value = "NVIDIA H200", .us = {}};
  document.calls["nvmlFoo(0)"] = {.code = 0, .missing = true, .value = nullptr, .us = {}};
  return document;
}

Recording recording() {
  Recording out;
  out.tool_version = "0.1.0";
  out.created_utc = "2026-03-01T12:00:00Z";
  out.description = "every form";
  const RecordedFailure refused{ErrorKind::no_permission, "/x: Permission denied", 13};
  const RecordedFailure own{ErrorKind::timed_out, "no answer", 0};
  out.files = {{"/sys/a", std::string("1\n")}, {"/sys/b", std::string("\xff")}, {"/x", refused}};
  out.links = {{"/l", std::string("a")}, {"/m", std::string("\xfe")}};
  out.real_paths = {{"/l", std::string("/a")}, {"/x", own}};
  out.directories = {{"/d", std::vector<std::string>{"a", "\xff"}}};
  FileStatus node;
  node.kind = FileKind::character_device;
  node.mode = 0666;
  node.uid = 1, node.gid = 2, node.device_major = 195, node.device_minor = 3, node.size_bytes = 4;
  out.statuses = {{"/dev/nvidia0", node}, {"/x", refused}};
  out.opens = {{"/dev/nvidia0", std::nullopt}, {"/dev/kfd", refused}};
  out.spaces = {{"/", FileSystemSpace{100, 10}}};
  out.environment = {{"PATH", "/bin"}, {"CUDA_VISIBLE_DEVICES", std::nullopt}};
  SystemIdentity identity;
  identity.kernel_name = "Linux";
  identity.groups = {0, 44};
  out.identity = identity;
  out.kernel_log = std::string("1.5 NVRM: loading\n");
  JobOutcome exited, hung;
  exited.out = "text";
  exited.channel = "{}";
  exited.truncated = true;
  hung.end = JobEnd::hung;
  hung.signal = 9;
  out.tools = {{"nvcc --version", exited}, {"nvidia-smi", hung}, {"rocminfo", own}};
  out.probes.emplace("nvml", probe());
  return out;
}

TEST(RecordingDocument, OfEveryFormIsWrittenForTheSchema) {
  const std::filesystem::path folder = std::string(GPUREADY_BINARY_DIR) + "/test-documents";
  std::filesystem::create_directories(folder);
  ArchiveEntries entries;
  const Json index = recording_to_json(recording(), entries);
  for (const char* section : {"files", "links", "real_paths", "directories", "statuses", "opens",
                              "spaces", "environment", "identity", "kernel_log", "tools", "probes"})
    EXPECT_TRUE(index.contains(section)) << section;
  std::ofstream(folder / "recording.forms.json") << dump(index);
  std::ofstream(folder / "probe.forms.json") << dump(to_json(probe()));
}

}  // namespace
}  // namespace gpuready
