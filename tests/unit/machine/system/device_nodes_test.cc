#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "machine/sources.h"
#include "unit/machine/scripted.h"

namespace gpuready {
namespace {

// A machine whose /dev has these nodes; `more` are other sections.
Machine nodes_of(const std::string& devices, const std::string& files = "", Machine machine = {},
                 const std::string& more = "") {
  std::string statuses;
  for (const auto path : split(devices, " "))
    statuses += (statuses.empty() ? "\"" : ",\"") + std::string(path) +
                R"(":{"kind":"character_device","mode":"0660","uid":7,"gid":44,"major":195,)" +
                R"("minor":3})";
  const auto host = scripted("\"files\":{" + files + "},\"statuses\":{" + statuses + "}" + more);
  read_device_nodes(*host, machine);
  return machine;
}

// "-/dev/kfd": it does not exist.
std::string told(const Machine& machine) {
  std::vector<std::string> paths;
  for (const auto& node : machine.nodes) paths.push_back((node.exists ? "" : "-") + node.path);
  std::ranges::sort(paths);
  return join(paths, " ");
}

TEST(DeviceNodes, ThoseOfADriverThatIsThereAreToldThoughAbsentAndAllOthersIfTheyExist) {
  EXPECT_EQ(told(nodes_of("")), "");
  Machine nvidia, amd, kfd;
  nvidia.nvidia.module_loaded = true;
  amd.amd.module_loaded = true;
  kfd.amd.kfd_present = true;
  EXPECT_EQ(told(nodes_of("", "", nvidia)), "-/dev/nvidia-uvm -/dev/nvidiactl");
  EXPECT_EQ(told(nodes_of("/dev/nvidiactl", "", nvidia)), "-/dev/nvidia-uvm /dev/nvidiactl");
  for (const auto& machine : {amd, kfd}) EXPECT_EQ(told(nodes_of("", "", machine)), "-/dev/kfd");
  const std::string all =
      "/dev/dri/card0 /dev/dri/renderD128 /dev/dxg /dev/kfd /dev/nvhost-ctrl-gpu /dev/nvhost-gpu "
      "/dev/nvidia-caps/nvidia-cap1 /dev/nvidia-modeset /dev/nvidia-nvswitch0 "
      "/dev/nvidia-nvswitchctl /dev/nvidia-uvm /dev/nvidia-uvm-tools /dev/nvidia0 /dev/nvidiactl "
      "/dev/nvmap";
  EXPECT_EQ(told(nodes_of(all)), all);
  EXPECT_EQ(told(nodes_of("/dev/null /dev/nvidia /dev/nvidia1x /dev/nvidia-caps/other "
                          "/dev/dri/controlD64 /dev/dri/card /dev/nvidia-nvswitchX")),
            "");
}

TEST(DeviceNodes, AreOfANumberUnlessAnotherKindOfFileIsThere) {
  const auto machine = nodes_of("/dev/kfd", R"("/dev/dxg":"")");
  ASSERT_EQ(told(machine), "/dev/dxg /dev/kfd");
  const auto& file = machine.nodes[0];
  const auto& node = machine.nodes[1];
  EXPECT_EQ(node.mode, 0660u);
  EXPECT_EQ(node.uid, 7u);
  EXPECT_EQ(node.gid, 44u);
  EXPECT_EQ(node.device_major, 195u);
  EXPECT_EQ(node.device_minor, 3u);
  EXPECT_EQ(file.device_major, std::nullopt);
  EXPECT_EQ(file.device_minor, std::nullopt);
}

TEST(DeviceNodes, AGpuThatNvidiasDriverRunsIsToldThoughItsNodeIsAbsent) {
  const auto gpu = [](std::optional<int> minor, const char* driver) {
    Gpu out;
    out.vendor = Vendor::nvidia;
    out.minor_number = minor;
    out.driver = driver;
    return out;
  };
  Machine machine;
  machine.gpus = {gpu(0, "nvidia"), gpu(1, "nvidia"), gpu(2, "vfio-pci"), gpu({}, "nvidia")};
  EXPECT_EQ(told(nodes_of("/dev/nvidia0", "", machine)), "-/dev/nvidia1 /dev/nvidia0");
}

TEST(DeviceNodes, ThoseOfDrmAreOfTheirGpuAndToldThoughAbsent) {
  Machine machine;
  machine.gpus.emplace_back().pci = parse_pci_address("01:00.0");
  const auto read = nodes_of("/dev/dri/renderD128 /dev/dri/renderD129", "", machine,
                             R"(,"links":{"/sys/class/drm/card0/device":"../../../0000:01:00.0",
      "/sys/class/drm/renderD128/device":"../../../0000:01:00.0",
      "/sys/class/drm/card1/device":"../../../0000:02:00.0",
      "/sys/class/drm/renderD129/device":"../../../0000:02:00.0"})");
  EXPECT_EQ(told(read), "-/dev/dri/card0 /dev/dri/renderD128 /dev/dri/renderD129");
  for (const auto& node : read.nodes)
    EXPECT_EQ(node.pci, node.path == "/dev/dri/renderD129" ? std::nullopt : machine.gpus[0].pci)
        << node.path;
}

// The driver's names in the order of preference: of drivers before 550 the last.
TEST(DeviceNodes, HaveTheMajorThatTheirDriverRegisteredNow) {
  const auto major = [](const std::string& devices, const std::string& path) {
    Machine machine;
    machine.nvidia.module_loaded = true;
    const auto read =
        nodes_of(path, R"("/proc/devices":"Character devices:\n)" + devices + "\"", machine);
    for (const auto& node : read.nodes)
      if (node.path == path) return node.driver_major;
    return std::optional<std::uint32_t>(0);
  };
  EXPECT_EQ(major(R"(195 nvidia-frontend\n)", "/dev/nvidia0"), 195u);
  EXPECT_EQ(major(R"(195 nvidia-frontend\n196 nvidia\n)", "/dev/nvidia0"), 196u);
  EXPECT_EQ(major(R"(195 nvidiactl\n)", "/dev/nvidiactl"), 195u);
  EXPECT_EQ(major(R"(195 nvidia\n238 nvidia-uvm\n)", "/dev/nvidia-uvm"), 238u);
  EXPECT_EQ(major(R"(195 nvidia\n)", "/dev/nvidia-uvm"), std::nullopt);
  EXPECT_EQ(major(R"(195 nvidia-modeset\n)", "/dev/nvidia-modeset"), std::nullopt);
  Machine absent;
  absent.nvidia.module_loaded = true;
  const auto read = nodes_of("", R"("/proc/devices":"Character devices:\n195 nvidia\n")", absent);
  for (const auto& node : read.nodes) EXPECT_EQ(node.driver_major, std::nullopt) << node.path;
}

TEST(DeviceNodes, AreAskedWhetherTheyOpenOnlyOfAWholeMachineAndIfTheyExist) {
  for (const bool full : {false, true}) {
    Machine machine;
    machine.full = full;
    machine.nvidia.module_loaded = true;
    const auto read =
        nodes_of("/dev/nvidiactl", "", machine, R"(,"opens":{"/dev/nvidiactl":"ok"})");
    ASSERT_EQ(read.nodes.size(), 2u);
    EXPECT_EQ(read.nodes[0].openable, full ? std::optional(true) : std::nullopt);
    EXPECT_EQ(read.nodes[1].openable, std::nullopt);
  }
}

// proc(5): the innermost mount counts, and of several on one point the last.
TEST(DeviceNodes, TheInnermostMountSaysWhetherNodesOpen) {
  const auto nodev = [](std::initializer_list<std::pair<const char*, const char*>> mounts) {
    std::string text;
    for (const auto& [point, options] : mounts)
      text += std::string("22 1 0:5 / ") + point + " " + options + R"( - tmpfs a rw\n)";
    Machine machine;
    machine.full = true;
    const auto read = nodes_of("/dev/kfd", R"("/proc/self/mountinfo":")" + text + "22 1 0:5 / /\"",
                               machine, R"(,"opens":{"/dev/kfd":"ok"})");
    return read.nodes.at(0).nodev;
  };
  EXPECT_EQ(nodev({}), std::nullopt);
  EXPECT_EQ(nodev({{"/", "rw,nodev"}}), true);
  EXPECT_EQ(nodev({{"/", "rw,nodevice"}}), false);
  EXPECT_EQ(nodev({{"/", "rw,nodev"}, {"/dev", "rw"}}), false);
  EXPECT_EQ(nodev({{"/dev", "rw"}, {"/", "rw,nodev"}}), false);
  EXPECT_EQ(nodev({{"/dev", "nodev"}, {"/dev", "rw"}}), false);
  EXPECT_EQ(nodev({{"/dev", "rw"}, {"/dev", "nodev,rw"}}), true);
  EXPECT_EQ(nodev({{"/dev", "rw"}, {"/dev/kfd", "nodev"}}), true);
  EXPECT_EQ(nodev({{"/", "rw"}, {"/de", "nodev"}, {"/dev/k", "nodev"}, {"/dev/kfd0", "nodev"}}),
            false);
}

// mount(2): a node on a file system mounted nodev opens for no one, which access(2) does not say.
TEST(DeviceNodes, AMountWithNodevRefusesWhatIsNotRefusedAlready) {
  struct Row {
    const char *options, *open;
    std::optional<bool> openable;
    std::optional<std::string> error;
    bool nodev;
  };
  for (const auto& [options, open, openable, error, nodev] :
       std::initializer_list<Row>{{"rw,nosuid", "ok", true, {}, false},
                                  {"rw,nodev", "ok", false, "EACCES", true},
                                  {"rw,nosuid", "EPERM", false, "EPERM", false},
                                  {"rw,nodev", "EPERM", false, "EPERM", true},
                                  {"rw,nodev", "ENXIO", false, "ENXIO", true}}) {
    Machine machine;
    machine.full = true;
    const auto host = scripted(R"("files":{"/proc/self/mountinfo":"22 1 0:5 / / rw - ext4 a rw\n)"
                               R"(23 22 0:6 / /dev )" +
                               std::string(options) + R"( - tmpfs b rw\n"},)" +
                               R"("statuses":{"/dev/kfd":{"kind":"character_device"}},)" +
                               R"("opens":{"/dev/kfd":")" + open + "\"}");
    machine.amd.module_loaded = true;
    read_device_nodes(*host, machine);
    ASSERT_EQ(machine.nodes.size(), 1u);
    EXPECT_EQ(machine.nodes[0].openable, openable) << options << " " << open;
    EXPECT_EQ(machine.nodes[0].open_error, error) << options << " " << open;
    EXPECT_EQ(machine.nodes[0].nodev, nodev) << options << " " << open;
  }
}

}  // namespace
}  // namespace gpuready
