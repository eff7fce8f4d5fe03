// Plugging into a real QEMU whose processors do not run. NVMe controllers take the place of VFIO's
// devices: both have a property that names each of them.
#include "vm/hotplug/hotplug.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/text.h"
#include "jobs/running_job.h"
#include "unit/products/vm/driver_folder.h"
#include "vm/hotplug/qmp.h"

namespace gpuready::vm {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kTimeout{300};

GuestSlot slot(std::initializer_list<const char*> serials) {
  GuestSlot out;
  for (const auto* serial : serials)
    out.push_back({.property = "serial", .value = serial, .driver = "nvme"});
  return out;
}

std::string told(const Result<std::vector<HotPlugged>>& result) {
  if (!result) return result.error().message;
  std::string text;
  for (const auto& device : *result)
    text += fmt::format("{} {};", device.device, name_of(device.state));
  return text;
}

enum class Guest {
  absent,  // a slot that is off: QEMU removes its devices at once
  silent,  // ACPI asks a guest that never answers
};

class VmHotPlug : public testing::Test {
 protected:
  bool start(Guest guest, int ports) {
    Job job;
    job.program = "qemu-system-x86_64";
    job.args = {"-S",
                "-nodefaults",
                "-display",
                "none",
                "-machine",
                "q35",
                "-m",
                "64",
                "-qmp",
                "unix:" + socket + ",server=on,wait=off",
                "-global",
                fmt::format("ICH9-LPC.acpi-pci-hotplug-with-bridge-support={}",
                            guest == Guest::silent ? "on" : "off")};
    for (int port = 1; port <= ports; ++port)
      job.args.insert(job.args.end(),
                      {"-device", fmt::format("pcie-root-port,id=port{0},chassis={0}", port)});
    auto started = RunningJob::start(job);
    if (!started) return false;
    qemu.emplace(std::move(*started));
    for (const auto limit = deadline_in(milliseconds(20'000)); Clock::now() < limit;) {
      if (Qmp::open(socket, deadline_in(milliseconds(5'000)))) return true;
      std::this_thread::sleep_for(milliseconds(10));
    }
    ADD_FAILURE() << "QEMU does not start: " << qemu->text(kErr);
    return true;
  }
  // Names of what QEMU has besides its ports.
  std::string devices() const {
    auto qmp = Qmp::open(socket, deadline_in(milliseconds(5'000)));
    if (!qmp) return qmp.error().message;
    std::vector<std::string> names;
    const auto list = qmp->execute("qom-list", {{"path", "/machine/peripheral"}},
                                   deadline_in(milliseconds(5'000)));
    for (const auto& entry : *list)
      if (get_string(entry, "type") == "child<nvme>") names.push_back(*get_string(entry, "name"));
    std::ranges::sort(names);
    return join(names, ";");
  }

  TestFolder folder;
  const std::string socket = folder.path("qmp");
  std::optional<RunningJob> qemu;
};

#define START(guest, ports) \
  if (!start(guest, ports)) GTEST_SKIP() << "needs qemu-system-x86_64"

TEST_F(VmHotPlug, EachSlotGetsAPortAndLeavesIt) {
  START(Guest::absent, 2);
  const std::vector slots{slot({"a:0", "a:1"}), slot({"b"})};
  EXPECT_EQ(told(plug(socket, slots, kTimeout)), "a:0 plugged;a:1 plugged;b plugged;");
  EXPECT_EQ(devices(), "gpuready-a.0;gpuready-a.1;gpuready-b");
  EXPECT_EQ(told(plug(socket, {slots[0]}, kTimeout)), "a:0 already_plugged;a:1 already_plugged;");
  EXPECT_EQ(told(unplug(socket, slots, kTimeout)), "a:0 unplugged;a:1 unplugged;b unplugged;");
  EXPECT_EQ(devices(), "");
  EXPECT_EQ(told(unplug(socket, {slots[1]}, kTimeout)), "b not_plugged;");
}

// The header's bit is on function 0, where there are others (PCI Local Bus 3.0, 6.2.1).
TEST_F(VmHotPlug, FunctionZeroSaysThatThereAreOthers) {
  START(Guest::absent, 2);
  ASSERT_TRUE(plug(socket, {slot({"a:0", "a:1"}), slot({"b"})}, kTimeout));
  const auto deadline = deadline_in(milliseconds(5'000));
  auto qmp = Qmp::open(socket, deadline);
  ASSERT_TRUE(qmp) << qmp.error().message;
  for (const auto& [name, wanted] :
       {std::pair("gpuready-a.0", true), {"gpuready-a.1", false}, {"gpuready-b", false}}) {
    const auto value = qmp->execute(
        "qom-get",
        {{"path", std::string("/machine/peripheral/") + name}, {"property", "multifunction"}},
        deadline);
    ASSERT_TRUE(value) << value.error().message;
    EXPECT_EQ(*value, Json(wanted)) << name;
  }
}

TEST_F(VmHotPlug, WithoutAPortForEachNothingIsPlugged) {
  START(Guest::absent, 1);
  EXPECT_TRUE(contains(told(plug(socket, {slot({"a"}), slot({"b"})}, kTimeout)),
                       "2 slots need an empty port each, and the virtual machine has 1"));
  EXPECT_EQ(devices(), "");
}

TEST_F(VmHotPlug, WhatQemuRefusesIsTakenBack) {
  START(Guest::absent, 2);
  auto bad = slot({"b0", "b1"});
  bad[0].driver = "no-such-device";  // after function 1
  const auto result = plug(socket, {slot({"a"}), bad}, kTimeout);
  EXPECT_TRUE(contains(told(result), "QEMU: device_add: 'no-such-device' is not a valid device"))
      << told(result);
  EXPECT_EQ(devices(), "");
}

TEST_F(VmHotPlug, AnInterruptedRunIsCompleted) {
  START(Guest::absent, 1);
  auto qmp = Qmp::open(socket, deadline_in(milliseconds(5'000)));
  ASSERT_TRUE(qmp->execute(
      "device_add", {{"driver", "nvme"}, {"serial", "a1"}, {"bus", "port1"}, {"addr", "0.1"}},
      deadline_in(milliseconds(5'000))));
  qmp = fail(ErrorKind::io, "closed");
  EXPECT_EQ(told(plug(socket, {slot({"a0", "a1"})}, kTimeout)), "a0 plugged;a1 plugged;");
}

TEST_F(VmHotPlug, AGuestThatReleasesNothingIsWaitedForUntilTheDeadline) {
  START(Guest::silent, 1);
  ASSERT_EQ(told(plug(socket, {slot({"a"})}, kTimeout)), "a plugged;");
  for (int call = 0; call < 2; ++call) {  // the second waits for the request of the first
    const auto begin = Clock::now();
    const auto result = unplug(socket, {slot({"a"})}, kTimeout);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::timed_out);
    EXPECT_TRUE(contains(result.error().message, "the guest did not release 1 of the devices"))
        << result.error().message;
    EXPECT_GE(elapsed_ms(begin), 300);
  }
  EXPECT_EQ(devices(), "gpuready-a");
}

TEST_F(VmHotPlug, ErrorsNameTheSocket) {
  const auto missing = plug(socket, {slot({"a"})}, kTimeout);
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
  EXPECT_TRUE(contains(missing.error().message, socket + ": No such file"));
  START(Guest::absent, 1);
  const auto held = Qmp::open(socket, deadline_in(milliseconds(5'000)));
  ASSERT_TRUE(held);
  const auto second = Qmp::open(socket, deadline_in(kTimeout));
  EXPECT_EQ(second.error().kind, ErrorKind::busy);
}

}  // namespace
}  // namespace gpuready::vm
