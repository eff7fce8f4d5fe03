// What a journal may make root do, and whose journal is believed.
#include "vm/known_steps.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "vm/journal.h"
#include "vm/plan.h"

namespace gpuready::vm {
namespace {

const PciAddress kGpu = *parse_pci_address("0000:17:00.0");
const std::string kFolder = "/sys/bus/pci/devices/0000:17:00.0/";
constexpr char kUuid[] = "4b20d080-1b54-4048-85b3-a6a62d165c01";
constexpr char kCreate[] =
    "/sys/class/mdev_bus/0000:17:00.0/mdev_supported_types/nvidia-474/create";

Plan with(PlanAction action) {
  return {.operation = "attach",
          .name = "guest",
          .devices = {kGpu},
          .steps = {{.what = "x", .why = "", .risk = "", .act = std::move(action)}},
          .warnings = {},
          .refusals = {}};
}
PlanAction write(std::string path, std::string value) {
  return {.kind = ActionKind::write,
          .device = kGpu,
          .path = std::move(path),
          .value = std::move(value)};
}
PlanAction of_host(std::string path, std::string value) {
  return {.kind = ActionKind::write, .path = std::move(path), .value = std::move(value)};
}
PlanAction command(std::vector<std::string> words) {
  return {.kind = ActionKind::run, .command = std::move(words)};
}
PlanAction driver(ActionKind kind, std::string name) {
  return {.kind = kind, .device = kGpu, .driver = std::move(name)};
}
PlanAction reset(std::string methods) {
  return {.kind = ActionKind::reset, .device = kGpu, .value = std::move(methods)};
}
PlanAction renew(std::string path, std::string value) {
  return {.kind = ActionKind::renew, .path = std::move(path), .value = std::move(value)};
}
const std::string kPages = "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages";

TEST(KnownSteps, WhatPlansAreMadeOfIsTaken) {
  for (const auto& action :
       {write(kFolder + "driver_override", "vfio-pci"), write(kFolder + "driver_override", ""),
        write(kFolder + "power/control", "on"), write(kFolder + "power/control", "auto"),
        write(kFolder + "d3cold_allowed", "0"), write(kFolder + "nvidia/current_vgpu_type", "1048"),
        of_host(kPages, "512"), driver(ActionKind::bind, "nvgrace-gpu-vfio-pci"),
        driver(ActionKind::unbind, "snd_hda_intel"), reset("flr bus"), reset(""),
        command({"systemctl", "stop", "nvidia-persistenced.service"}),
        command({"systemctl", "start", "nvidia-fabricmanager.service"}),
        command({"systemctl", "restart", "nvidia-dcgm.service"}),
        command({"nvidia-smi", "-i", "0000:17:00.0", "-pm", "0"}), renew(kCreate, kUuid),
        PlanAction{.kind = ActionKind::idle, .devices = {kGpu}, .instances = {kUuid}},
        PlanAction{.kind = ActionKind::clean, .device = kGpu}}) {
    const auto known = check_known_steps(with(action));
    EXPECT_TRUE(known) << known.error().message;
  }
}

TEST(KnownSteps, AnythingElseIsRefused) {
  for (const auto& action :
       {command({"sh", "-c", "id"}),
        command({}),
        command({"systemctl", "stop", "sshd.service"}),
        command({"systemctl", "--root=/x", "nvidia-dcgm.service"}),
        command({"/tmp/systemctl", "stop", "nvidia-dcgm.service"}),
        command({"nvidia-smi", "-i", "0000:17:00.0", "-pm", "0; id"}),
        command({"nvidia-smi", "--filename=/etc/passwd", "0000:17:00.0", "-pm", "0"}),
        write("/etc/passwd", "root::0:0::/:/bin/sh"),
        write(kFolder + "../x/driver_override", ""),
        write(kFolder + "remove", "1"),
        write(kFolder + "driver_override", "a/b"),
        write(kFolder + "driver_override", "a\nb"),
        write(kFolder + "power/control", "off"),
        write("/sys/bus/pci/devices/0000:65:00.0/driver_override", "vfio-pci"),
        of_host("/proc/sys/kernel/core_pattern", "|/tmp/x"),
        of_host("/sys/devices/system/node/../hugepages/hugepages-2048kB/nr_hugepages", "1"),
        of_host(kPages, "many"),
        of_host(kPages + "/x", "1"),
        of_host("/sys/devices/system/cpus/node0/hugepages/hugepages-2048kB/nr_hugepages", "1"),
        of_host("/sys/devices/system/node/node/hugepages/hugepages-2048kB/nr_hugepages", "1"),
        of_host("/sys/devices/system/node/edon0/hugepages/hugepages-2048kB/nr_hugepages", "1"),
        of_host("/sys/devices/system/node/node0/memory/hugepages-2048kB/nr_hugepages", "1"),
        of_host("/sys/devices/system/node/node0/hugepages/hugepages-kB/nr_hugepages", "1"),
        of_host("/sys/devices/system/node/node0/hugepages/hugepages-2048MB/nr_hugepages", "1"),
        of_host("/sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages", "1"),
        driver(ActionKind::bind, "../../../tmp"),
        driver(ActionKind::bind, ""),
        driver(ActionKind::unbind, ".."),
        PlanAction{.kind = ActionKind::bind, .driver = "nvidia"},
        reset("flr;id"),
        PlanAction{.kind = ActionKind::reset, .value = "flr"},
        renew("/tmp/create", kUuid),
        renew(kCreate, "x"),
        renew(std::string(kCreate) + "/x", kUuid),
        renew("/sys/class/mdev_bux/0000:17:00.0/mdev_supported_types/nvidia-474/create", kUuid),
        renew("/sys/class/mdev_bus/0000:17:00.0/mdev_other/nvidia-474/create", kUuid),
        renew("/sys/class/mdev_bus/0000:17:00.0/mdev_supported_types/nvidia-474/remove", kUuid),
        PlanAction{.kind = ActionKind::clean},
        PlanAction{.kind = ActionKind::rom}}) {
    EXPECT_FALSE(check_known_steps(with(action))) << action.path << action.value;
    auto undone = with(driver(ActionKind::bind, "nvidia"));
    undone.steps[0].undo = action;
    EXPECT_FALSE(check_known_steps(undone));
  }
  auto plan = with(driver(ActionKind::bind, "nvidia"));
  plan.operation = "run";
  EXPECT_FALSE(check_known_steps(plan));
}

TEST(KnownSteps, NamesHaveLettersDigitsAndFourSigns) {
  for (const char* name : {"a", "azAZ09", "web-1.x_y:z"}) EXPECT_TRUE(check_name(name)) << name;
  EXPECT_TRUE(check_name(std::string(128, 'a')));
  EXPECT_FALSE(check_name(std::string(129, 'a')));
  for (const char* name : {"", "a b", "a/b", "`", "{", "@", "[", ";", "a\n", "\xc3\xa9"})
    EXPECT_FALSE(check_name(name)) << name;
}

TEST(KnownSteps, ABusIsResetOnlyForADeviceThatHasItAlone) {
  EXPECT_EQ(best_resets({"flr", "bus"}, true), "flr bus");
  EXPECT_EQ(best_resets({"flr", "bus"}, false), "flr");
  EXPECT_EQ(best_resets({"bus"}, false), "");
}

constexpr char kJournal[] =
    R"({"plan":{"operation":"attach","name":"a","devices":["0000:17:00.0"],"managed":false,)"
    R"("steps":[{"what":"x","act":{"kind":"bind","device":"0000:17:00.0","driver":"nvidia","may_fail":false},)"
    R"("undo":{"kind":"run","may_fail":false,"command":[%s]}}]},"boot_id":"1"})"
    "\n{\"begin\":0}\n";

class LiveJournal : public testing::Test {
 protected:
  ~LiveJournal() override { std::filesystem::remove_all(folder_); }
  void put(const std::string& command) {
    std::string text = kJournal;
    text.replace(text.find("%s"), 2, command);
    std::ofstream(folder_ + "/000001.1.attach.jsonl") << text;
    ::chmod((folder_ + "/000001.1.attach.jsonl").c_str(), 0600);
  }
  auto read() { return read_journal(*host_, folder_); }

  std::unique_ptr<Host> host_ = make_live_host();
  std::string folder_ = [] {
    auto name = (std::filesystem::temp_directory_path() / "journalXXXXXX").string();
    return std::string(::mkdtemp(name.data()));
  }();
};

TEST_F(LiveJournal, AShellIsNeverStarted) {
  put(R"("systemctl","start","nvidia-dcgm.service")");
  auto claims = read();
  ASSERT_TRUE(claims) << claims.error().message;
  EXPECT_EQ(claims->at(0).problem, "");
  put(R"("sh","-c","id")");
  claims = read();
  ASSERT_TRUE(claims);
  EXPECT_NE(claims->at(0).problem.find("not one of gpuready's steps: run sh -c id"),
            std::string::npos)
      << claims->at(0).problem;
  EXPECT_EQ(state_of(claims->at(0)), ClaimState::unreadable);
}

TEST_F(LiveJournal, ThatOthersMayWriteIsNotBelieved) {
  put(R"("systemctl","start","nvidia-dcgm.service")");
  ::chmod(folder_.c_str(), 0777);
  const auto open_to_all = read();
  ASSERT_FALSE(open_to_all);
  EXPECT_EQ(open_to_all.error().kind, ErrorKind::bad_input);  // not as one that is hidden
  EXPECT_NE(open_to_all.error().message.find("mode 0777"), std::string::npos);
  ::chmod(folder_.c_str(), 0700);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(::chown((folder_ + "/000001.1.attach.jsonl").c_str(), 65534, 65534), 0);
  const auto foreign = read();
  ASSERT_TRUE(foreign);
  EXPECT_NE(foreign->at(0).problem.find("belongs to another user (user 65534"), std::string::npos)
      << foreign->at(0).problem;
  ASSERT_EQ(::chown(folder_.c_str(), 65534, 65534), 0);
  EXPECT_FALSE(read());
}

}  // namespace
}  // namespace gpuready::vm
