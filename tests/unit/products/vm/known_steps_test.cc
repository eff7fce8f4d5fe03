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
PlanAction in_guest(std::vector<PciAddress> held, std::string driver, std::string bundle) {
  return {.kind = ActionKind::clean,
          .device = kGpu,
          .devices = std::move(held),
          .driver = std::move(driver),
          .path = std::move(bundle)};
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
        PlanAction{.kind = ActionKind::clean, .device = kGpu},
        in_guest({kGpu}, "vfio-pci", "/b")}) {
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
        driver(ActionKind::unbind, ""),
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
        in_guest({kGpu}, "nvidia", "/b"),
        in_guest({kGpu}, "vfio-pci", "b"),
        in_guest({}, "vfio-pci", "/b"),
        in_guest({*parse_pci_address("0000:65:00.0"), kGpu}, "vfio-pci", "/b"),
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

// What a step of each kind may be, by a journal that a plan wrote.
std::vector<PlanAction> one_of_each_kind() {
  return {write(kFolder + "power/control", "on"),
          driver(ActionKind::bind, "nvidia"),
          driver(ActionKind::unbind, "nvidia"),
          reset("flr"),
          command({"systemctl", "stop", "nvidia-dcgm.service"}),
          {.kind = ActionKind::idle, .devices = {kGpu}, .instances = {kUuid}},
          {.kind = ActionKind::rom, .device = kGpu},
          renew(kCreate, kUuid),
          {.kind = ActionKind::clean, .device = kGpu}};
}

TEST(KnownSteps, NoKindHasTheFieldsOfAnother) {
  const std::vector<std::string> program = {"systemctl", "stop", "nvidia-dcgm.service"};
  for (const auto& action : one_of_each_kind()) {
    ASSERT_TRUE(check_known_steps(with(action)));
    std::vector<PlanAction> forged;
    const auto forge = [&](auto change) {
      forged.push_back(action);
      change(forged.back());
    };
    const bool writes = !action.path.empty();
    if (action.kind != ActionKind::run) forge([&](PlanAction& a) { a.command = program; });
    if (action.driver.empty()) forge([](PlanAction& a) { a.driver = "nvidia"; });
    if (!writes) forge([](PlanAction& a) { a.path = kFolder + "power/control"; });
    if (!writes && action.kind != ActionKind::reset) forge([](PlanAction& a) { a.value = "on"; });
    if (action.kind != ActionKind::idle) {
      forge([](PlanAction& a) { a.devices = {kGpu}; });
      forge([](PlanAction& a) { a.instances = {kUuid}; });
    } else {
      forge([](PlanAction& a) {  // one that it proves nothing of
        a.device = kGpu;
        a.devices.clear();
      });
    }
    ASSERT_GE(forged.size(), 4u);
    for (const auto& step : forged)
      EXPECT_FALSE(check_known_steps(with(step))) << static_cast<int>(step.kind);
  }
}

TEST(KnownSteps, OfDevicesThatThePlanDoesNotMoveAreRefused) {
  const auto other = *parse_pci_address("0000:65:00.0");
  for (auto action : one_of_each_kind()) {
    if (!action.device) continue;
    action.device = other;
    if (action.kind == ActionKind::write)
      action.path = "/sys/bus/pci/devices/0000:65:00.0/power/control";
    EXPECT_FALSE(check_known_steps(with(action))) << static_cast<int>(action.kind);
  }
  EXPECT_FALSE(check_known_steps(with(command({"nvidia-smi", "-i", "0000:65:00.0", "-pm", "0"}))));
}

// Of a step that writes, the words of a command mean nothing.
TEST(KnownSteps, DetachTakesNoWriteForACommand) {
  auto attached = with(write(kFolder + "power/control", "on"));
  attached.steps[0].act.command = {"systemctl"};
  attached.steps[0].undo = attached.steps[0].act;
  attached.steps[0].undo->value = "auto";
  attached.steps.push_back(attached.steps[0]);
  attached.steps[1].act.command = {"nvidia-smi"};
  std::size_t writes = 0;
  for (const auto& step : plan_detach(attached, {}).steps)
    writes += step.act.kind == ActionKind::write ? 1 : 0;
  EXPECT_EQ(writes, 2u);  // each is undone once
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
    put_text(text);
  }
  void put_text(const std::string& text) {
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

// One hand-forged step of each kind, as the file holds it.
TEST_F(LiveJournal, AForgedStepOfAnyKindIsUnreadable) {
  constexpr const char* kForged[] = {
      R"("kind":"write","device":"0000:17:00.0","path":"/sys/bus/pci/devices/0000:17:00.0/power/control","value":"on","command":["systemctl"])",
      R"("kind":"write","path":"/etc/ld.so.preload","value":"/tmp/x.so")",
      R"("kind":"bind","device":"0000:17:00.0","driver":"../../x")",
      R"("kind":"unbind","device":"0000:65:00.0","driver":"nvidia")",
      R"("kind":"reset","device":"0000:17:00.0","value":"flr","path":"/etc/passwd")",
      R"("kind":"run","command":["/tmp/nvidia-smi","-i","0000:17:00.0","-pm","0"])",
      R"("kind":"idle","devices":["0000:17:00.0"],"instances":["../x"])",
      R"("kind":"rom","device":"0000:17:00.0","path":"/etc/shadow")",
      R"("kind":"renew","path":"/tmp/x/create","value":"4b20d080-1b54-4048-85b3-a6a62d165c01")",
      R"("kind":"clean","device":"0000:17:00.0","command":["sh","-c","id"])"};
  for (const std::string step : kForged) {
    std::string text = kJournal;
    const std::string undo = R"("kind":"run","may_fail":false,"command":[%s])";
    text.replace(text.find(undo), undo.size(), R"("may_fail":false,)" + step);
    put_text(text);
    const auto claims = read();
    ASSERT_TRUE(claims);
    EXPECT_EQ(state_of(claims->at(0)), ClaimState::unreadable) << step;
    EXPECT_NE(claims->at(0).problem.find("not one of gpuready's steps"), std::string::npos)
        << step << ": " << claims->at(0).problem;
  }
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

TEST(KnownSteps, ADriversNameHasAtMost64PrintableCharacters) {
  for (const auto& name : {std::string(64, 'x'), std::string("a ~")})
    EXPECT_TRUE(check_known_steps(with(driver(ActionKind::bind, name)))) << name;
  for (const auto& name : {std::string(65, 'x'), std::string("a\x7f"), std::string("a\x1f")})
    EXPECT_FALSE(check_known_steps(with(driver(ActionKind::bind, name)))) << name;
}

}  // namespace
}  // namespace gpuready::vm
