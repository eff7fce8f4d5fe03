#include "machine/inspect.h"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include "scripted.h"

namespace gpuready {
namespace {

InspectOptions full() {
  InspectOptions options;
  options.full = true;
  return options;
}

// Forwards to a scripted host and notes which probes were asked.
class Watched final : public Host {
 public:
  explicit Watched(std::unique_ptr<Host> inner) : inner_(std::move(inner)) {}
  HostKind kind() const override { return HostKind::live; }
  Result<std::string> read_file(const std::string& path, std::size_t limit) override {
    read.push_back(path);
    return inner_->read_file(path, limit);
  }
  Result<std::string> read_link(const std::string& path) override {
    return inner_->read_link(path);
  }
  Result<std::string> real_path(const std::string& path) override {
    return inner_->real_path(path);
  }
  Result<std::vector<std::string>> list_directory(const std::string& path) override {
    return inner_->list_directory(path);
  }
  Result<FileStatus> status(const std::string& path) override { return inner_->status(path); }
  Result<void> may_open(const std::string& path) override {
    opened.push_back(path);
    return inner_->may_open(path);
  }
  void ask_driver(const std::vector<std::string>& files) override {
    announced.insert(files.begin(), files.end());
    inner_->ask_driver(files);
  }
  Result<FileSystemSpace> space(const std::string& path) override { return inner_->space(path); }
  std::optional<std::string> environment(const std::string& name) override {
    return inner_->environment(name);
  }
  Result<SystemIdentity> identity() override { return inner_->identity(); }
  Result<std::string> kernel_log() override { return inner_->kernel_log(); }
  Result<JobOutcome> run(const Job& command) override { return inner_->run(command); }
  void expect_probe(const ProbeRequest& request) override {
    expected.push_back(request);
    read_before = read;
  }
  std::vector<ProbeDocument> probe(const std::vector<ProbeRequest>& requests) override {
    ++batches;
    for (const auto& request : requests) asked.push_back(request);
    return inner_->probe(requests);
  }
  const ProbeRequest* request(std::string_view probe) const {
    for (const auto& one : asked)
      if (one.probe == probe) return &one;
    return nullptr;
  }

  std::vector<ProbeRequest> asked, expected;
  std::vector<std::string> read, opened;
  std::vector<std::string> read_before;  // what expect_probe() waited for
  std::set<std::string> announced;       // to ask_driver()
  int batches = 0;

 private:
  std::unique_ptr<Host> inner_;
};

std::string two_gpus(const char* first, const char* second) {
  return R"("files":{
   "/sys/module/nvidia/version":"580.159.04\n",
   "/sys/bus/pci/devices/0000:17:00.0/class":"0x030200","/sys/bus/pci/devices/0000:17:00.0/vendor":"0x10de",
   "/sys/bus/pci/devices/0000:17:00.0/power/runtime_status":")" +
         std::string(first) + R"(",
   "/sys/bus/pci/devices/0000:18:00.0/class":"0x030200","/sys/bus/pci/devices/0000:18:00.0/vendor":"0x10de",
   "/sys/bus/pci/devices/0000:18:00.0/power/runtime_status":")" +
         second + R"("})";
}

// Files that a driver answers by asking the GPU, which may never answer.
bool asks_the_gpu(const std::string& path) {
  static const std::regex kPaths(
      "/proc/driver/nvidia/gpus/.*/information|/sys/.*/(gpu_metrics|gpu_busy_percent|"
      "mem_info_vram_used|pcie_replay_count|pp_dpm_[a-z]+|act_freq|gt_act_freq_mhz|ras/"
      ".*_err_count)|"
      "/sys/.*/hwmon/.*/(temp|power).*");
  return std::regex_match(path, kPaths);
}

TEST(Inspect, WhatADriverMayNeverAnswerIsAskedInAChild) {
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(GPUREADY_SOURCE_DIR) + "/tests/machines")) {
    const auto path =
        std::filesystem::is_directory(entry) ? entry.path() / "machine.json" : entry.path();
    if (path.extension() != ".json" || !std::filesystem::exists(path)) continue;
    auto recording = load_recording(path.string());
    if (!recording) continue;  // not a machine
    Watched host(make_recorded_host(std::move(*recording)));
    inspect(host, full());
    for (const auto& read : host.read) {
      if (!asks_the_gpu(read) || !host.exists(read)) continue;
      EXPECT_TRUE(host.announced.contains(read)) << path << ": " << read;
      ++files;
    }
  }
  EXPECT_GE(files, 50u);
}

TEST(Inspect, AMachineWithoutAGpuStartsNoChildForOne) {
  Watched host(scripted(R"("files":{})"));
  const auto machine = inspect(host, {});
  EXPECT_TRUE(machine.gpus.empty());
  EXPECT_EQ(host.batches, 0);
}

TEST(Inspect, AllProbesAreAskedAtOnce) {
  Watched host(scripted(two_gpus("active", "active")));
  inspect(host, full());
  EXPECT_EQ(host.batches, 1);
  EXPECT_NE(host.request("nvml"), nullptr);
  EXPECT_NE(host.request("cuda"), nullptr);
  EXPECT_NE(host.request("vulkan"), nullptr);
  EXPECT_EQ(host.request("rocm"), nullptr);
  EXPECT_EQ(host.request("cuda")->timeout, std::chrono::seconds(50)) << "10 s more for each GPU";
}

TEST(Inspect, DetectAsksNvmlAlone) {
  Watched host(scripted(two_gpus("active", "active")));
  inspect(host, {});
  ASSERT_EQ(host.asked.size(), 1u);
  EXPECT_EQ(host.asked[0].probe, "nvml");
  EXPECT_TRUE(host.asked[0].args.empty());
}

// No variable names a library of Metal.
TEST(Inspect, AMacIsAskedForMetal) {
  Watched host(scripted(R"("identity":{"kernel_name":"Darwin","kernel_release":"24.1.0",
      "machine":"arm64","host_name":"mac"},"environment":{"GPUREADY_LIBCUDA":"/none"},"files":{})"));
  inspect(host, {});
  ASSERT_EQ(host.asked.size(), 1u);
  EXPECT_EQ(host.asked[0].probe, "metal");
}

// Without NVLinks a path between two GPUs of NVIDIA is not known, and those are asked with the
// counters.
TEST(Inspect, PathsBetweenGpusAreToldWhereAllTheirLinksAreKnown) {
  const auto paths = [](const char* name, InspectOptions options) {
    auto recording = load_recording(std::string(GPUREADY_SOURCE_DIR) + "/tests/machines/" + name +
                                    "/machine.json");
    if (!recording) return std::size_t{99};
    if (!options.full) recording->probes.erase("nvml");
    return inspect(*make_recorded_host(std::move(*recording)), options).paths.size();
  };
  EXPECT_EQ(paths("base-mi300x2", {}), 1u);
  EXPECT_EQ(paths("base-hgx-h100x8", {}), 0u);
  EXPECT_EQ(paths("base-hgx-h100x8", {.counters = true}), 28u);
  EXPECT_EQ(paths("base-hgx-h100x8", full()), 28u);
}

// NVML is started before the files are read, with the very question that is asked afterwards.
TEST(Inspect, WhatIsExpectedIsWhatIsAsked) {
  InspectOptions files;
  files.libraries = false;
  for (const auto& [first, second] : {std::pair{"active", "active"}, {"suspended", "active"}})
    for (const InspectOptions& options : {InspectOptions(), full()}) {
      Watched host(scripted(two_gpus(first, second)));
      inspect(host, options);
      ASSERT_EQ(host.expected.size(), 1u);
      ASSERT_NE(host.request("nvml"), nullptr);
      EXPECT_EQ(host.expected[0].args, host.request("nvml")->args);
      for (const auto& path : host.read_before)
        EXPECT_TRUE(path.starts_with("/sys/bus/pci/devices/") && path.find("_link_") == path.npos)
            << path;
    }
  for (const InspectOptions& options : {files, full()}) {  // nothing may be asked here
    Watched host(scripted(two_gpus("suspended", "suspended")));
    inspect(host, options);
    EXPECT_TRUE(host.expected.empty());
  }
}

TEST(Inspect, FilesOnlyAsksNothing) {
  Watched host(scripted(two_gpus("active", "active")));
  InspectOptions options;
  options.libraries = false;
  EXPECT_EQ(inspect(host, options).gpus.size(), 2u);
  EXPECT_EQ(host.batches, 0);
}

TEST(Inspect, ASuspendedGpuIsNotWoken) {
  Watched host(scripted(two_gpus("suspended", "active")));
  const auto machine = inspect(host, full());
  ASSERT_NE(host.request("nvml"), nullptr);
  EXPECT_EQ(host.request("nvml")->args,
            (std::vector<std::string>{"--full", "--only", "0000:18:00.0"}));
  EXPECT_EQ(host.request("cuda"), nullptr);
  EXPECT_EQ(host.request("vulkan"), nullptr);
  for (const char* what : {"NVML", "CUDA driver", "Vulkan"})
    EXPECT_TRUE(std::any_of(machine.unseen.begin(), machine.unseen.end(),
                            [&](const Unseen& unseen) {
                              return unseen.what == what &&
                                     unseen.why.find("0000:17:00.0") != std::string::npos;
                            }))
        << what;
  for (const auto& path : host.read)
    EXPECT_EQ(path.find("17:00.0/current_link"), std::string::npos) << path;
}

// A vendor's library wakes that vendor's GPUs; Vulkan's loader wakes all.
TEST(Inspect, OnlyAProbeThatTouchesTheSuspendedGpuIsHeldBack) {
  for (const char* vendor : {"0x1002", "0x8086"}) {
    std::string machine = two_gpus("suspended", "active");
    machine.replace(machine.find("0x10de"), 6, vendor);
    Watched host(scripted(machine));
    inspect(host, full());
    ASSERT_NE(host.request("nvml"), nullptr) << vendor;
    EXPECT_EQ(host.request("nvml")->args, std::vector<std::string>{"--full"}) << vendor;
    EXPECT_NE(host.request("cuda"), nullptr) << vendor;
    EXPECT_EQ(host.request("rocm"), nullptr) << vendor;
    EXPECT_EQ(host.request("vulkan"), nullptr) << vendor;
  }
}

TEST(Inspect, WhenAllAreSuspendedNothingIsAsked) {
  Watched host(scripted(two_gpus("suspended", "suspended")));
  inspect(host, full());
  EXPECT_EQ(host.batches, 0);
}

TEST(Inspect, ADeviceFileIsOpenedOnlyInAFullInspection) {
  const std::string nodes = R"("files":{"/sys/module/nvidia/version":"580\n"},"statuses":{
    "/dev/nvidiactl":{"kind":"character_device","mode":438,"uid":0,"gid":0,"major":195,"minor":255},
    "/dev/nvidia0":{"kind":"character_device","mode":438,"uid":0,"gid":0,"major":195,"minor":0}})";
  Watched quick(scripted(nodes));
  const auto machine = inspect(quick, {});
  EXPECT_TRUE(quick.opened.empty());
  EXPECT_TRUE(std::any_of(machine.nodes.begin(), machine.nodes.end(), [](const DeviceNode& node) {
    return node.path == "/dev/nvidia0" && node.exists;
  }));
  Watched deep(scripted(nodes));
  inspect(deep, full());
  EXPECT_EQ(std::count(deep.opened.begin(), deep.opened.end(), "/dev/nvidiactl"), 1);
  EXPECT_EQ(std::count(deep.opened.begin(), deep.opened.end(), "/dev/nvidia0"), 1)
      << "that would start the GPU";
}

constexpr const char* kFullNvml = R"json(,"probes":{"nvml --full":{
  "probe":"nvml","version":1,"outcome":"completed","calls":{
    "nvmlInit_v2()":{"code":0},
    "nvmlSystemGetDriverVersion()":{"code":0,"value":"580.159.04"}}}})json";

TEST(Inspect, AReplayFindsTheNvmlDocumentOfAFullerRecording) {
  const auto host = scripted(two_gpus("active", "active") + kFullNvml);
  EXPECT_EQ(inspect(*host, {}).nvidia.driver_version, "580.159.04");
}

TEST(Inspect, TheMissingFileOfANumberedGpuIsTold) {
  const auto host = scripted(R"("links":{
     "/sys/bus/pci/devices/0000:17:00.0":"../../../devices/pci0000:16/0000:17:00.0",
     "/sys/devices/pci0000:16/0000:17:00.0/driver":"../../../bus/pci/drivers/nvidia"},
   "files":{"/sys/module/nvidia/version":"580\n",
     "/sys/bus/pci/devices/0000:17:00.0/class":"0x030200","/sys/bus/pci/devices/0000:17:00.0/vendor":"0x10de",
     "/proc/driver/nvidia/gpus/0000:17:00.0/information":"Model: \t NVIDIA H200\nDevice Minor: \t 3\n"})");
  const auto machine = inspect(*host, {});
  EXPECT_TRUE(std::any_of(machine.nodes.begin(), machine.nodes.end(), [](const DeviceNode& node) {
    return node.path == "/dev/nvidia3" && !node.exists;
  }));
}

}  // namespace
}  // namespace gpuready
