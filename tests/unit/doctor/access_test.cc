// Device nodes of GPUs: one rule for all vendors.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "base/text.h"
#include "doctor/diagnose.h"
#include "machine/gpu_use.h"
#include "machine/system/gpu_nodes.h"

namespace gpuready {
namespace {

constexpr std::uint16_t id_of(Vendor vendor) {
  return vendor == Vendor::nvidia ? 0x10de : vendor == Vendor::amd ? 0x1002 : 0x8086;
}

struct Card {
  Vendor vendor = Vendor::intel;
  std::string driver = "xe";
  bool integrated = false;
};

// GPUs on buses 1, 2, ..., each bound to its driver.
Machine machine_with(const std::vector<Card>& cards) {
  Machine machine;
  machine.full = true;
  machine.kernel_log.readable = true;
  for (const auto& card : cards) {
    const int index = static_cast<int>(machine.gpus.size());
    PciDevice device;
    device.address = {0, static_cast<std::uint8_t>(index + 1), 0, 0};
    device.vendor_id = id_of(card.vendor);
    device.class_code = 0x030000;
    device.driver = card.driver;
    device.is_gpu = true;
    machine.pci.push_back(device);
    Gpu gpu;
    gpu.index = index;
    gpu.vendor = card.vendor;
    gpu.pci = device.address;
    gpu.driver = card.driver;
    gpu.integrated = card.integrated;
    machine.gpus.push_back(gpu);
  }
  return machine;
}

// `error`: "" is open, "ENOENT" absent. `gpu` < 0: sysfs does not tell whose it is.
void add_node(Machine& machine, const std::string& path, const std::string& error, int gpu = -1) {
  DeviceNode node;
  node.path = path;
  node.exists = error != "ENOENT";
  if (node.exists) {
    node.mode = 0660;
    node.gid = 109;
    node.openable = error.empty();
    if (!error.empty()) node.open_error = error;
  }
  if (gpu >= 0) node.pci = machine.gpus[static_cast<std::size_t>(gpu)].pci;
  machine.nodes.push_back(node);
}

std::string outcome(const Machine& machine) {
  std::string text;
  for (const auto& finding : diagnose(machine)) {
    if (finding.severity == Severity::info) continue;
    text += finding.id;
    for (const int gpu : finding.gpus) text += " " + std::to_string(gpu);
    text += ";";
  }
  return text;
}

std::string uses(const Machine& machine) {
  std::string text;
  for (const auto& gpu : machine.gpus)
    text += std::string(to_string(access_to(machine, gpu).use)) + ";";
  return text;
}

const Card kXe{}, kI915{Vendor::intel, "i915"}, kIgpu{Vendor::intel, "i915", true},
    kAmd{Vendor::amd, "amdgpu"}, kAmdIgpu{Vendor::amd, "amdgpu", true};

TEST(GpuNodes, OneRuleHoldsForAllVendorsAndSurroundings) {
  struct Case {
    std::string what;
    std::vector<Card> cards;
    std::vector<std::string> render;  // the error of each GPU's render node
    std::string runtime, expected, used;
  };
  const std::vector<Case> cases = {
      {"all open", {kXe, kI915}, {"", ""}, "", "", "usable;usable;"},
      {"no group, xe", {kXe}, {"EACCES"}, "", "device-node-permission 0;", "unusable;"},
      {"no group, i915", {kI915}, {"EACCES"}, "", "device-node-permission 0;", "unusable;"},
      {"no group, only graphics",
       {kIgpu},
       {"EACCES"},
       "",
       "device-node-permission 0;",
       "unusable;"},
      {"one of two closed",
       {kXe, kXe},
       {"", "EACCES"},
       "",
       "device-node-permission 1;",
       "usable;unusable;"},
      {"both closed",
       {kIgpu, kXe},
       {"EACCES", "EACCES"},
       "",
       "device-node-permission 0 1;",
       "unusable;unusable;"},
      {"spare graphics closed", {kIgpu, kXe}, {"EACCES", ""}, "", "", "not_ours;usable;"},
      {"discrete closed, graphics open",
       {kIgpu, kXe},
       {"", "EACCES"},
       "",
       "device-node-permission 1;",
       "usable;unusable;"},
      {"group missing in a container",
       {kXe},
       {"EACCES"},
       "docker",
       "device-node-permission 0;",
       "unusable;"},
      {"nothing handed in",
       {kXe, kXe},
       {"ENOENT", "ENOENT"},
       "docker",
       "device-nodes-missing 0 1;",
       "unusable;unusable;"},
      {"one handed in", {kXe, kXe}, {"ENOENT", ""}, "podman", "", "not_ours;usable;"},
      {"only the graphics handed in",
       {kIgpu, kXe},
       {"", "ENOENT"},
       "docker",
       "device-nodes-missing 1;",
       "usable;unusable;"},
      {"no node on a host", {kXe}, {"ENOENT"}, "", "device-nodes-missing 0;", "unusable;"},
      {"one node of two on a host",
       {kXe, kXe},
       {"", "ENOENT"},
       "",
       "device-nodes-missing 1;",
       "usable;unusable;"},
      {"a volume, not a device", {kXe}, {"EPERM"}, "docker", "cgroup-revoked 0;", "unusable;"},
      {"a job was given one", {kXe, kXe}, {"EPERM", ""}, "", "", "not_ours;usable;"},
      {"a service was given none",
       {kXe, kI915},
       {"EPERM", "EPERM"},
       "",
       "cgroup-revoked 0 1;",
       "unusable;unusable;"},
  };
  for (const auto& [what, cards, render, runtime, expected, used] : cases) {
    auto machine = machine_with(cards);
    if (!runtime.empty()) machine.container.runtime = runtime;
    for (std::size_t i = 0; i < render.size(); ++i)
      add_node(machine, "/dev/dri/renderD" + std::to_string(128 + i), render[i],
               static_cast<int>(i));
    EXPECT_EQ(outcome(machine), expected) << what;
    EXPECT_EQ(uses(machine), used) << what;
    if (render == std::vector<std::string>(render.size(), "ENOENT")) continue;
    // Where sysfs does not place the nodes, they are in the order of the GPUs.
    for (auto& node : machine.nodes) node.pci.reset();
    EXPECT_EQ(outcome(machine), expected) << what << ", unplaced";
  }
}

TEST(GpuNodes, RocmNeedsKfdAsWell) {
  for (const auto& [kfd, render, runtime, expected] : std::vector<std::array<std::string, 4>>{
           {"", "", "", ""},
           {"EACCES", "", "", "device-node-permission 0;"},
           {"", "EACCES", "", "device-node-permission 0;"},
           {"ENOENT", "", "docker", "device-nodes-missing 0;"},
           {"", "ENOENT", "kubernetes", "device-nodes-missing 0;"},
           {"EPERM", "EPERM", "lxc", "cgroup-revoked 0;"}}) {
    auto machine = machine_with({kAmd});
    machine.amd.module_loaded = true;
    if (!runtime.empty()) machine.container.runtime = runtime;
    add_node(machine, "/dev/kfd", kfd);
    add_node(machine, "/dev/dri/renderD128", render, 0);
    EXPECT_EQ(outcome(machine), expected) << kfd << " " << render;
  }
  auto graphics = machine_with({kAmdIgpu});  // KFD may leave it out
  graphics.amd.module_loaded = true;
  add_node(graphics, "/dev/kfd", "ENOENT");
  add_node(graphics, "/dev/dri/renderD128", "", 0);
  EXPECT_EQ(outcome(graphics), "");
  EXPECT_TRUE(reachable(graphics, graphics.gpus[0]));
}

TEST(GpuNodes, AHostWithoutRenderNodesAnywhereIsNotBlamed) {
  auto machine = machine_with({kXe});  // the driver made none: the log says why
  add_node(machine, "/dev/dri/card0", "");
  EXPECT_EQ(outcome(machine), "");
  machine.container.runtime = "docker";
  EXPECT_EQ(outcome(machine), "device-nodes-missing 0;");
}

TEST(GpuNodes, AContainerWithAnotherVendorsGpuLacksNothing) {
  auto machine = machine_with({kIgpu, kAmd});
  machine.amd.module_loaded = true;
  machine.container.runtime = "docker";
  add_node(machine, "/dev/kfd", "");
  add_node(machine, "/dev/dri/renderD128", "ENOENT", 0);
  add_node(machine, "/dev/dri/renderD129", "", 1);
  EXPECT_EQ(outcome(machine), "");
  EXPECT_EQ(uses(machine), "not_ours;usable;");
}

TEST(GpuNodes, AContainerWithAmdGpusLacksNothingOfNvidias) {
  auto machine = machine_with({{Vendor::nvidia, "nvidia"}, kAmd});
  machine.nvidia.module_loaded = machine.amd.module_loaded = true;
  machine.nvidia.nvml_outcome = machine.nvidia.cuda_outcome = "no_library";
  machine.container.runtime = "docker";
  add_node(machine, "/dev/kfd", "");
  add_node(machine, "/dev/dri/renderD129", "", 1);
  EXPECT_EQ(outcome(machine), "");
  EXPECT_EQ(uses(machine), "not_ours;usable;");
  machine.nodes[0].open_error = "EACCES";  // what was given says what was not, whoever may open it
  machine.nodes[0].openable = false;
  EXPECT_EQ(outcome(machine), "device-node-permission 1;");
}

TEST(GpuNodes, ANodeWithAnotherMajorThanItsDriversIsStale) {
  auto machine = machine_with({kAmd});
  machine.amd.module_loaded = true;
  add_node(machine, "/dev/kfd", "");
  add_node(machine, "/dev/dri/renderD128", "", 0);
  machine.nodes[0].device_major = 240;
  machine.nodes[0].driver_major = 240;
  EXPECT_EQ(outcome(machine), "");
  machine.nodes[0].driver_major = 239;
  EXPECT_EQ(outcome(machine), "device-node-stale 0;");
  machine.amd.start = ApiStatus{"hsa_init()", 0, "HSA_STATUS_SUCCESS"};
  EXPECT_EQ(outcome(machine), "");  // it works all the same
}

TEST(GpuNodes, MajorsAreThoseOfCharacterDevices) {
  const auto majors = parse_char_majors(
      "Character devices:\n  1 mem\n195 nvidia\n507 nvidia-uvm\nx y\n9 a b\n\n"
      "Block devices:\n  8 sd\n507 kfd\n");
  EXPECT_EQ(majors.size(), 3u);
  EXPECT_EQ(majors.find("nvidia-uvm")->second, 507u);
  EXPECT_EQ(majors.find("kfd"), majors.end());
}

// Of a group with other rights nobody is made a member for a GPU's sake.
TEST(GpuNodes, TheUserJoinsTheNodesOwnGroupAlone) {
  struct Case {
    Card card;
    std::vector<const char*> nodes;
    std::vector<std::uint32_t> groups;
    std::uint32_t mode;
    const char *command, *cure;
  };
  const Case cases[] = {
      {kAmd,
       {"/dev/kfd", "/dev/dri/renderD128"},
       {109, 109},
       0660,
       "usermod -aG 109 \"$USER\"",
       "(109)"},
      {kAmd,
       {"/dev/kfd", "/dev/dri/renderD128"},
       {109, 44},
       0660,
       "usermod -aG 44,109 \"$USER\"",
       "(44,109)"},
      {kAmd, {"/dev/kfd", "/dev/dri/renderD128"}, {109, 0}, 0660, "", "A rule of udev"},
      {kXe, {"/dev/dri/renderD128"}, {6}, 0660, "", "group 6, which has /dev/dri/renderD128"},
      {kXe, {"/dev/dri/renderD128"}, {39}, 0660, "usermod -aG 39 \"$USER\"", "(39)"},
      {kXe, {"/dev/dri/renderD128"}, {109}, 0600, "", "A rule of udev"},
      {{Vendor::nvidia, "nvidia"}, {"/dev/nvidiactl"}, {0}, 0660, "", "NVreg_DeviceFileGID"},
  };
  for (const auto& one : cases) {
    auto machine = machine_with({one.card});
    machine.system.effective_uid = 1000;
    for (std::size_t i = 0; i < one.nodes.size(); ++i) {
      add_node(machine, one.nodes[i], "EACCES", contains(one.nodes[i], "dri") ? 0 : -1);
      machine.nodes.back().gid = one.groups[i];
      machine.nodes.back().mode = one.mode;
    }
    const auto findings = diagnose(machine);
    const auto found = std::ranges::find(findings, "device-node-permission", &Finding::id);
    ASSERT_NE(found, findings.end()) << one.cure;
    EXPECT_EQ(found->command.value_or(""), one.command);
    EXPECT_TRUE(contains(found->cure.value_or(""), one.cure)) << *found->cure;
  }
}

// user_namespaces(7): an id that the namespace does not map shows as 65534.
TEST(GpuNodes, AGroupThatAUserNamespaceDoesNotKnowIsKeptFromTheHost) {
  for (const auto& [group, in_namespace, kept] : {std::tuple(65534u, true, true),
                                                  {65534u, false, false},
                                                  {65533u, true, false},
                                                  {65535u, true, false},
                                                  {109u, true, false}}) {
    auto machine = machine_with({kXe});
    machine.system.effective_uid = 1000;
    machine.system.user_namespace = in_namespace;
    add_node(machine, "/dev/dri/renderD128", "EACCES", 0);
    machine.nodes.back().gid = group;
    const auto findings = diagnose(machine);
    const auto found = std::ranges::find(findings, "device-node-permission", &Finding::id);
    ASSERT_NE(found, findings.end()) << group;
    EXPECT_EQ(contains(found->command.value_or(""), "keep-groups"), kept) << group;
    EXPECT_EQ(contains(found->cure.value_or(""), "with that user's groups"), kept) << group;
  }
}

// path_resolution(7): a mode that lets everybody in does not refuse, and root passes a mode only by
// CAP_DAC_OVERRIDE. mount(2): nodev.
TEST(GpuNodes, WhatKeepsAProcessFromANodeIsItsModeOrWhatSurroundsTheProcess) {
  struct Row {
    std::uint32_t mode, user;
    const char* where;  // letters: user namespace, nodev, SELinux enforces, container
    const char *title, *cure, *command;
  };
  const char* const by_mode = "This user may not open the GPU's device nodes";
  const char* const join = "Add the user to the nodes' group (109";
  const char* const usermod = "usermod -aG 109 \"$USER\"";
  const char* const nodev = "The GPU's device nodes are on a file system that forbids device nodes";
  const char* const selinux = "SELinux keeps this process from the GPU's device nodes";
  const char* const in_namespace =
      "A user namespace keeps this process from the GPU's device nodes";
  const char* const findmnt = "findmnt -T /dev/dri/renderD128";
  const char* const of_root = "Start the process in the nodes' group, or leave it that capability.";
  for (const auto& [mode, user, where, title, cure, command] : std::initializer_list<Row>{
           {0660, 1000, "", by_mode, join, usermod},
           {0660, 1000, "uns", by_mode, join, usermod},
           {0664, 1000, "", by_mode, join, usermod},
           {0662, 1000, "", by_mode, join, usermod},
           {0660, 0, "", by_mode, of_root, ""},
           {0660, 0, "c", by_mode, of_root, "docker run --group-add 109 IMAGE"},
           {0660, 0, "u", by_mode, join, usermod},
           {0666, 1000, "nsuc", nodev, "Hand the nodes in as devices", findmnt},
           {0666, 0, "n", nodev, "Hand the nodes in as devices", findmnt},
           {0666, 1000, "su", selinux, "Restore the nodes' labels.", "restorecon -Rv /dev"},
           {0666, 1000, "suc", selinux, "Let containers use devices",
            "setsebool -P container_use_devices 1"},
           {0666, 1000, "u", in_namespace, "Let the runtime hand the nodes in, instead",
            "podman run --device /dev/dri IMAGE"},
           {0666, 1000, "", by_mode, "Look for a security module", findmnt}}) {
    const std::string_view at = where;
    auto machine = machine_with({kXe});
    machine.system.effective_uid = user;
    machine.system.user_namespace = contains(at, "u");
    machine.system.selinux_enforcing = contains(at, "s");
    if (contains(at, "c")) machine.container.runtime = "docker";
    add_node(machine, "/dev/dri/renderD128", "EACCES", 0);
    machine.nodes.back().mode = mode;
    machine.nodes.back().nodev = contains(at, "n");
    const auto findings = diagnose(machine);
    const auto found = std::ranges::find(findings, "device-node-permission", &Finding::id);
    ASSERT_NE(found, findings.end()) << mode << at;
    EXPECT_EQ(found->title, title) << mode << at;
    EXPECT_TRUE(found->cure.value_or("").starts_with(cure)) << mode << at << *found->cure;
    EXPECT_EQ(found->command.value_or(""), command) << mode << at;
  }
}

TEST(GpuNodes, OfManyNodesFourAreQuoted) {
  for (const char* error : {"EACCES", "ENOENT"})
    for (const int count : {3, 4, 5}) {
      auto machine = machine_with(std::vector<Card>(static_cast<std::size_t>(count), kXe));
      machine.system.effective_uid = 1000;
      machine.container.runtime = "docker";
      for (int i = 0; i < count; ++i)
        add_node(machine, "/dev/dri/renderD" + std::to_string(128 + i), error, i);
      const auto findings = diagnose(machine);
      ASSERT_FALSE(findings.empty());
      EXPECT_EQ(std::ranges::count_if(findings[0].evidence,
                                      [](const Evidence& item) {
                                        return item.source.starts_with("/dev/dri/renderD");
                                      }),
                std::min(count, 4))
          << error << count;
    }
}

}  // namespace
}  // namespace gpuready
