#include <gtest/gtest.h>

#include <cerrno>

#include "base/text.h"
#include "host/recording/recording.h"

namespace gpuready {
namespace {

Job command(std::string program, std::vector<std::string> args = {}) {
  Job out;
  out.program = std::move(program);
  out.args = std::move(args);
  return out;
}

std::unique_ptr<Host> scripted(const std::string& body) {
  auto recording = recording_from_script(
      R"({"schema":"gpuready.machine-script","schema_version":1,)" + body + "}", "test", "/");
  EXPECT_TRUE(recording) << (recording ? "" : recording.error().message);
  return recording ? make_recorded_host(std::move(*recording)) : nullptr;
}

const std::string kPci = R"("links":{
    "/sys/bus/pci/devices/0000:17:00.0":"../../../devices/pci0000:16/0000:17:00.0",
    "/sys/devices/pci0000:16/0000:17:00.0/driver":"../../../bus/pci/drivers/nvidia",
    "/sys/class/drm/card0":"../../devices/pci0000:16/0000:17:00.0/drm/card0",
    "/sys/devices/pci0000:16/0000:17:00.0/drm/card0/device":"../../../0000:17:00.0",
    "/usr/lib/libcuda.so.1":"libcuda.so.580.1","/loop":"/loop"},
  "files":{"/sys/devices/pci0000:16/0000:17:00.0/vendor":"0x10de\n",
    "/sys/bus/pci/devices/0000:17:00.0/class":"0x030200\n",
    "/usr/lib/libcuda.so.580.1":"", "/secret":{"error":"EACCES"},"/never":{"error":"ENOENT"}})";

TEST(ScriptedHost, ReadsThroughLinkedFolders) {
  auto host = scripted(kPci);
  EXPECT_EQ(host->read_file("/sys/bus/pci/devices/0000:17:00.0/vendor"), "0x10de\n");
  EXPECT_EQ(host->read_file("/sys/class/drm/card0/device/vendor"), "0x10de\n");
  EXPECT_EQ(host->read_file("/sys/class/drm/card0/device/../0000:17:00.0/class"), "0x030200\n");
}

TEST(ScriptedHost, FilesListedBehindALinkAreInItsTarget) {
  auto host = scripted(kPci);
  EXPECT_EQ(host->read_file("/sys/devices/pci0000:16/0000:17:00.0/class"), "0x030200\n");
}

TEST(ScriptedHost, LinksAnswerTheirTextAndTheirEnd) {
  auto host = scripted(kPci);
  EXPECT_EQ(host->read_link("/sys/bus/pci/devices/0000:17:00.0/driver"),
            "../../../bus/pci/drivers/nvidia");
  EXPECT_EQ(host->real_path("/usr/lib/libcuda.so.1"), "/usr/lib/libcuda.so.580.1");
  EXPECT_EQ(host->real_path("/sys/class/drm/card0/device"), "/sys/devices/pci0000:16/0000:17:00.0");
  EXPECT_EQ(host->real_path("/sys/bus/pci/devices/0000:17:00.0/driver"),
            "/sys/bus/pci/drivers/nvidia");
  EXPECT_EQ(host->read_link("/secret").error().code, EINVAL);
  EXPECT_EQ(host->real_path("/loop").error().code, ELOOP);
}

TEST(ScriptedHost, FoldersFollowFromThePaths) {
  auto host = scripted(kPci);
  EXPECT_EQ(host->list_directory("/sys/bus/pci/devices"), std::vector<std::string>{"0000:17:00.0"});
  EXPECT_EQ(host->list_directory("/sys/bus/pci/devices/0000:17:00.0"),
            (std::vector<std::string>{"class", "driver", "drm", "vendor"}));
  EXPECT_EQ(host->status("/sys/bus/pci")->kind, FileKind::directory);
  EXPECT_EQ(host->list_directory("/secret").error().code, ENOTDIR);
}

TEST(ScriptedHost, WhatIsNotListedDoesNotExist) {
  auto host = scripted(kPci);
  for (const char* path : {"/none", "/never", "/sys/bus/usb", "relative", "", "/secret/x"}) {
    EXPECT_EQ(host->read_file(path).error().kind, ErrorKind::not_found) << path;
    EXPECT_FALSE(host->exists(path)) << path;
  }
  EXPECT_EQ(host->read_file("/secret").error().code, EACCES);
  EXPECT_TRUE(host->exists("/secret"));
  EXPECT_EQ(host->environment("HOME"), std::nullopt);
  EXPECT_EQ(host->run(command("nvidia-smi")).error().kind, ErrorKind::not_found);
  EXPECT_EQ(host->probe({{"nvml", {}}})[0].outcome, ProbeOutcome::no_library);
}

TEST(ScriptedHost, DevicesOpenAsListedOrAsTheirModeAllows) {
  auto host = scripted(R"("opens":{"/dev/nvidia0":"ok","/dev/nvidiactl":"EPERM"},
    "statuses":{"/dev/kfd":{"kind":"character_device","mode":"0660","gid":44,"major":511},
                "/dev/dri/renderD128":{"kind":"character_device","mode":"0660","gid":105}},
    "identity":{"effective_uid":1000,"groups":[1000,105]})");
  EXPECT_TRUE(host->may_open("/dev/nvidia0"));
  EXPECT_EQ(host->may_open("/dev/nvidiactl").error().code, EPERM);
  EXPECT_EQ(host->may_open("/dev/kfd").error().code, EACCES);
  EXPECT_TRUE(host->may_open("/dev/dri/renderD128"));
  EXPECT_EQ(host->may_open("/dev/none").error().code, ENOENT);
  EXPECT_EQ(host->status("/dev/nvidia0")->kind, FileKind::character_device);
  EXPECT_EQ(host->status("/dev/kfd")->device_major, 511u);
  EXPECT_EQ(host->list_directory("/dev"),
            (std::vector<std::string>{"dri", "kfd", "nvidia0", "nvidiactl"}));
}

TEST(ScriptedHost, ReadLimitHolds) {
  auto host = scripted(R"("files":{"/a":"12345"})");
  EXPECT_EQ(host->read_file("/a", 5), "12345");
  EXPECT_EQ(host->read_file("/a", 4).error().kind, ErrorKind::too_large);
}

TEST(ScriptedHost, TextOfAnEmptyFileIsNothing) {
  auto host = scripted(R"("files":{"/a":" x\n","/blank":" \n","/empty":""})");
  EXPECT_EQ(host->read_text("/a"), "x");
  for (const char* path : {"/blank", "/empty", "/none"})
    EXPECT_EQ(host->read_text(path), std::nullopt) << path;
}

TEST(RecordedHost, NeverAskedIsNotAbsent) {
  Recording recording;
  recording.files["/a"] = "x";
  recording.directories["/sys"] = std::vector<std::string>{"module"};
  recording.statuses["/sys/module/nvidia"] = RecordedFailure{ErrorKind::not_found, "gone", ENOENT};
  auto host = make_recorded_host(std::move(recording));
  EXPECT_EQ(host->read_file("/a"), "x");
  EXPECT_EQ(host->read_file("/b").error().kind, ErrorKind::not_recorded);
  EXPECT_TRUE(contains(host->read_file("/b").error().message, "/b"));
  EXPECT_EQ(host->read_file("/sys/module/amdgpu/version").error().kind, ErrorKind::not_recorded);
  // What another answer tells is known.
  EXPECT_EQ(host->read_file("/sys/class/x").error().kind, ErrorKind::not_found);
  EXPECT_EQ(host->read_file("/sys/module/nvidia/version").error().kind, ErrorKind::not_found);
  EXPECT_EQ(host->identity().error().kind, ErrorKind::not_recorded);
  EXPECT_EQ(host->kernel_log().error().kind, ErrorKind::not_recorded);
  EXPECT_EQ(host->run(command("x")).error().kind, ErrorKind::not_recorded);
  EXPECT_EQ(host->may_open("/dev/x").error().kind, ErrorKind::not_recorded);
  EXPECT_EQ(host->probe({{"cuda", {}}})[0].outcome, ProbeOutcome::not_asked);
}

TEST(RecordingHost, ReplayGivesTheSameAnswers) {
  auto world = scripted(kPci + R"j(,"environment":{"A":"1","MY_TOKEN":"s"},"kernel_log":"1.0 x\n",
    "tools":{"nvidia-smi -L":{"exit_code":9,"out":"none"}},"opens":{"/dev/x":"EBUSY"},
    "probes":{"nvml a":{"probe":"nvml","calls":{"nvmlInit_v2()":{"code":9}}}},
    "spaces":{"/":{"total_bytes":9,"available_bytes":1}})j");
  Recording recording;
  auto host = make_recording_host(*world, recording);
  const auto ask = [](Host& h) {
    std::string all;
    const auto add = [&](const auto& result) {
      all += result ? *result : result.error().message;
      all += '\n';
    };
    add(h.read_file("/secret"));
    add(h.read_file("/sys/bus/pci/devices/0000:17:00.0/vendor"));
    add(h.read_link("/sys/bus/pci/devices/0000:17:00.0/driver"));
    add(h.real_path("/usr/lib/libcuda.so.1"));
    add(h.kernel_log());
    all += join(h.list_directory("/sys/bus").value_or(std::vector<std::string>{}), ",");
    all += h.environment("A").value_or("-") + h.environment("B").value_or("-");
    all += h.may_open("/dev/x").error().message;
    all += h.run(command("nvidia-smi", {"-L"}))->out;
    all += std::to_string(h.probe({{"nvml", {"a"}}})[0].find("nvmlInit_v2()")->code);
    all += std::to_string(h.space("/")->total_bytes) + h.identity()->host_name;
    all += h.exists("/none") ? "yes" : "no";
    return all;
  };
  const auto live = ask(*host);
  host->environment("MY_TOKEN");
  EXPECT_FALSE(recording.environment.contains("MY_TOKEN"));
  auto replay = make_recorded_host(recording);
  EXPECT_EQ(replay->kind(), HostKind::recorded);
  EXPECT_EQ(ask(*replay), live);
}

TEST(RecordingHost, ALaterReadWithALargerLimitCompletesTheRecording) {
  auto world = scripted(R"("files":{"/a":"12345"})");
  Recording recording;
  auto host = make_recording_host(*world, recording);
  EXPECT_FALSE(host->read_file("/a", 2));
  EXPECT_TRUE(host->read_file("/a", 100));
  auto replay = make_recorded_host(recording);
  EXPECT_EQ(replay->read_file("/a", 2).error().kind, ErrorKind::too_large);
  EXPECT_EQ(replay->read_file("/a", 100), "12345");
}

TEST(Keys, WordsAreQuotedWhereNeeded) {
  EXPECT_EQ(tool_key(command("a", {"b c", "", "d'e", "-f"})), "a 'b c' '' 'd'\\''e' -f");
  EXPECT_EQ(probe_key({"nvml", {"0000:17:00.0"}}), "nvml 0000:17:00.0");
}

}  // namespace
}  // namespace gpuready
