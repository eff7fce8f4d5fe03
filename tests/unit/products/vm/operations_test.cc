#include "vm/operations.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>

#include "doubles/failing_storage.h"
#include "unit/products/vm/fake_kernel.h"
#include "vm/identity.h"

namespace gpuready::vm {
namespace {

const PciAddress kGpu = *parse_pci_address("0000:17:00.0");
constexpr char kGpuText[] = "0000:17:00.0", kAudioText[] = "0000:17:00.1";

// A GPU with its audio function, another GPU that stays, and services that hold both.
void fill(FakeKernel& kernel) {
  kernel.add(kGpuText, {});
  kernel.add(kAudioText, {.class_code = "0x040300", .native = "snd_hda_intel"});
  kernel.add("0000:65:00.0", {.group = 2});
  kernel.serve("nvidia-persistenced.service", "812", "nvidia-persiste", {"/dev/nvidia0"});
}

AttachRequest for_guest() { return {.name = "guest-1", .devices = {kGpu}}; }

// Without the reports that are kept for comparison.
std::vector<std::string> journal_of(const FakeKernel& kernel) {
  auto names = kernel.disk.names("/state");
  std::erase_if(names, [](const std::string& name) { return name.ends_with(".clean.json"); });
  return names;
}

std::string reasons(const Plan& plan) { return join(plan.refusals, "; "); }

TEST(VmOperations, TheJournalIsReadByRootOnly) {
  FakeKernel kernel;
  fill(kernel);
  auto hands = kernel.hands(kernel);
  hands.folder = "/state/journal";
  const auto attached = attach(hands, for_guest());
  ASSERT_TRUE(attached && attached->ok());
  EXPECT_EQ(kernel.disk.status(hands.folder)->mode, 0700u);
  auto names = kernel.disk.names(hands.folder);
  std::erase(names, hands.folder + "/lock");
  ASSERT_FALSE(names.empty());
  for (const auto& name : names) EXPECT_EQ(kernel.disk.status(name)->mode, 0600u) << name;
}

TEST(VmOperations, ThereAndBack) {
  FakeKernel kernel;
  fill(kernel);
  auto hands = kernel.hands(kernel);
  const auto attached = attach(hands, for_guest());
  ASSERT_TRUE(attached) << attached.error().message;
  ASSERT_TRUE(attached->ok()) << reasons(attached->plan);
  EXPECT_TRUE(kernel.is_given_away({kGpuText, kAudioText}));
  EXPECT_EQ(kernel.devices[kGpuText].resets, 1);
  // The other GPU keeps its driver, and the service that it needs.
  EXPECT_EQ(kernel.devices["0000:65:00.0"].bound, "nvidia");
  EXPECT_TRUE(kernel.services.contains("nvidia-persistenced.service"));

  const auto state = read_state(kernel, "/state");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->inventory.find(kGpu)->around.attached_to, "guest-1");
  EXPECT_EQ(state->inventory.find(kGpu)->around.readiness, Readiness::in_use);

  const auto detached = detach(hands, "guest-1", {});
  ASSERT_TRUE(detached) << detached.error().message;
  ASSERT_EQ(detached->size(), 1u);
  EXPECT_TRUE(detached->front().ok()) << detached->front().outcome.error.value_or(Error{}).message;
  for (const auto& step : detached->front().plan.steps)
    EXPECT_TRUE(step.what.front() >= 'A' && step.what.front() <= 'Z') << step.what;
  EXPECT_TRUE(kernel.is_as_at_first());
  EXPECT_EQ(kernel.devices[kGpuText].resets, 2);
  EXPECT_TRUE(std::ranges::find(kernel.commands, "check") != kernel.commands.end());
  EXPECT_EQ(journal_of(kernel), std::vector<std::string>{"/state/lock"});
}

TEST(VmOperations, AnOrdinaryUserSeesTheDevicesWithoutTheJournal) {
  FakeKernel kernel;
  fill(kernel);
  kernel.forbidden.insert("/state");
  const auto state = read_state(kernel, "/state");
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_NE(state->inventory.find(kGpu), nullptr);
  ASSERT_FALSE(state->inventory.unseen.empty());
  EXPECT_TRUE(contains(state->inventory.unseen.back(), "only root may see what is attached"));
  // A virtual machine may have what VFIO has.
  EXPECT_EQ(state->inventory.find(kGpu)->around.readiness, Readiness::ready);
  kernel.devices[kGpuText].bound = "vfio-pci";
  const auto bound = read_state(kernel, "/state");
  EXPECT_TRUE(contains(bound->inventory.find(kGpu)->around.reason, "needs a look"));
}

// Whatever spoiled it: a name is given to a journal only when its plan is durable.
TEST(VmOperations, ADamagedJournalSaysNothingOfItsDevices) {
  for (const auto& text :
       {std::string(), std::string(4096, '\0'), std::string("{\"plan\":{\"operation\":\"att"),
        std::string("{\"plan\":{}}\n"), std::string("x\n")}) {
    FakeKernel kernel;
    fill(kernel);
    auto hands = kernel.hands(kernel);
    ASSERT_TRUE(attach(hands, for_guest())->ok());
    const auto files = kernel.disk.names("/state");
    const auto journal =
        std::ranges::find_if(files, [](const auto& f) { return f.ends_with(".jsonl"); });
    ASSERT_TRUE(journal != files.end());
    ASSERT_TRUE(kernel.disk.unlink(*journal));
    ASSERT_TRUE((*kernel.disk.create(*journal, 0600))->write(text));
    const auto state = read_state(kernel, "/state");
    ASSERT_TRUE(state);
    const auto& around = state->inventory.find(kGpu)->around;
    EXPECT_EQ(around.readiness, Readiness::needs) << text;
    EXPECT_TRUE(contains(around.reason, "needs a look")) << around.reason;
    // One that has its own driver is nobody's; nothing is attached all the same.
    const PciAddress other = *parse_pci_address("0000:65:00.0");
    EXPECT_EQ(state->inventory.find(other)->around.readiness, Readiness::ready);
    EXPECT_FALSE(plan_attachment(*state, {.name = "b", .devices = {other}}).refusals.empty());
  }
}

TEST(VmOperations, AJournalThatNeverBeganIsNoClaim) {
  FakeKernel kernel;
  fill(kernel);
  ASSERT_TRUE(kernel.disk.create("/state/000001.1.attach.jsonl.new", 0600));
  auto hands = kernel.hands(kernel);
  EXPECT_TRUE(attach(hands, for_guest())->ok());
  EXPECT_TRUE(detach(hands, "guest-1", {}));
  EXPECT_EQ(journal_of(kernel), std::vector<std::string>{"/state/lock"});

  // Of an id that no later attach takes: recover removes it.
  ASSERT_TRUE(kernel.disk.create("/state/000007.1.attach.jsonl.new", 0600));
  ASSERT_TRUE(recover(hands));
  EXPECT_EQ(journal_of(kernel), std::vector<std::string>{"/state/lock"});
}

// An operation of `devices` that ended.
void note(FakeKernel& kernel, unsigned sequence, const std::string& operation,
          std::vector<PciAddress> devices) {
  Plan plan;
  plan.operation = operation;
  plan.name = "guest-1";
  plan.devices = std::move(devices);
  auto journal = JournalWriter::begin(kernel, "/state", 1, sequence, plan, {});
  ASSERT_TRUE(journal && journal->end(false));
}

TEST(VmOperations, OperationsCountInTheOrderOfTheirNumbers) {
  FakeKernel kernel;
  fill(kernel);
  note(kernel, 1, "attach", {kGpu});
  for (unsigned sequence = 2; sequence <= 11; ++sequence) note(kernel, sequence, "detach", {kGpu});
  const auto claims = read_journal(kernel, "/state");  // "...10" and "...11" precede "...2" by name
  ASSERT_TRUE(claims && claims->size() == 1);
  ASSERT_EQ(claims->front().operations.size(), 11u);
  EXPECT_EQ(claims->front().attached().operation, "attach");
  for (unsigned i = 0; i < 11; ++i) EXPECT_EQ(claims->front().operations[i].sequence, i + 1);
}

// Its files could not be removed after the detach.
TEST(VmOperations, AClaimThatEndedHoldsNothing) {
  FakeKernel kernel;
  fill(kernel);
  note(kernel, 1, "attach", {kGpu});
  note(kernel, 2, "detach", {kGpu});
  const auto state = read_state(kernel, "/state");
  ASSERT_TRUE(state && state->claims.size() == 1);
  EXPECT_EQ(state->inventory.find(kGpu)->around.readiness, Readiness::ready)
      << state->inventory.find(kGpu)->around.reason;
}

TEST(VmOperations, AJournalOfMoreThan16MiBIsNotRead) {
  for (const std::size_t mebibytes : {16, 17}) {
    FakeKernel kernel;
    fill(kernel);
    note(kernel, 1, "attach", {kGpu});
    const std::string name = "/state/000001.1.attach.jsonl";
    const auto text = *kernel.read_file(name, 0);
    ASSERT_TRUE(kernel.disk.unlink(name));
    ASSERT_TRUE((*kernel.disk.create(name, 0600))
                    ->write(text + std::string((mebibytes << 20) - text.size(), ' ')));
    const auto claims = read_journal(kernel, "/state");
    ASSERT_TRUE(claims && claims->size() == 1);
    EXPECT_EQ(claims->front().problem.empty(), mebibytes == 16) << claims->front().problem;
  }
}

// Of what no readable journal speaks, a virtual machine may have it.
TEST(VmOperations, ADamagedJournalLeavesOtherClaimsKnown) {
  FakeKernel kernel;
  fill(kernel);
  const PciAddress other = *parse_pci_address("0000:65:00.0"),
                   unfinished = *parse_pci_address("0000:97:00.0");
  kernel.add("0000:97:00.0", {.group = 3});
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, for_guest())->ok());
  for (const char* address : {"0000:65:00.0", "0000:97:00.0"})
    kernel.devices[address].bound = "vfio-pci";
  ASSERT_TRUE((*kernel.disk.create("/state/000002.1.attach.jsonl", 0600))->write("x\n"));
  ASSERT_TRUE(JournalWriter::begin(kernel, "/state", 3, 1,
                                   {.operation = "attach",
                                    .name = "guest-3",
                                    .devices = {unfinished},
                                    .steps = {},
                                    .warnings = {},
                                    .refusals = {}},
                                   {}));
  const auto state = read_state(kernel, "/state");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->inventory.find(kGpu)->around.attached_to, "guest-1");
  EXPECT_FALSE(state->inventory.find(kGpu)->around.not_told);
  EXPECT_TRUE(state->inventory.find(other)->around.not_told);
  EXPECT_EQ(state->inventory.find(unfinished)->around.quarantine.value_or(""),
            "attaching it was not finished");
  EXPECT_FALSE(state->inventory.find(unfinished)->around.not_told);
}

// A device and an instance for each claim, and one device more for that with a device in
// quarantine.
TEST(VmOperations, WhatEachClaimSaysOfItsDevicesAndInstances) {
  const auto device = [](int function) {
    return *parse_pci_address(fmt::format("0000:17:00.{}", function));
  };
  const auto uuid = [](int number) {
    return fmt::format("b1f0a3f0-0000-4000-8000-{:012}", number);
  };
  const auto operation = [&](const char* kind, int number, bool ended = true) {
    Operation out;
    out.plan.operation = kind;
    out.plan.name = "guest";
    out.plan.devices = {device(number)};
    out.plan.instances = {uuid(number)};
    out.ended = ended;
    return out;
  };
  auto unclean = operation("detach", 3);
  unclean.plan.devices.push_back(device(6));
  unclean.unclean = {{device(3), "its check failed"}};
  std::vector<Claim> claims(6);
  claims[0].operations = {operation("attach", 0)};
  claims[1].operations = {operation("attach", 1, false)};
  claims[2].operations = {operation("attach", 2), operation("detach", 2, false)};
  claims[3].operations = {operation("attach", 3), unclean};
  claims[3].operations[0].plan.devices.push_back(device(6));
  claims[4].operations = {operation("attach", 4), operation("detach", 4)};
  claims[5].operations = {operation("attach", 5)};
  claims[5].problem = "first";
  const auto said = [&](bool handed_over) {
    Inventory inventory;
    for (int i = 0; i < 7; ++i) {
      auto& one = inventory.devices.emplace_back();
      one.function.address = device(i);
      if (handed_over) one.function.driver = "vfio-pci";
      inventory.instances.emplace_back().uuid = uuid(i);
    }
    apply_claims(inventory, claims);
    std::vector<std::string> all;
    for (int i = 0; i < 7; ++i)
      for (const auto& around : {inventory.devices[i].around, inventory.instances[i].around})
        all.push_back(around.attached_to  ? "attached to " + *around.attached_to
                      : around.quarantine ? *around.quarantine
                      : around.not_told   ? "not told: " + *around.not_told
                                          : "");
    return all;
  };
  const auto of_claims = [](const std::string& device_untold, const std::string& instance_untold) {
    return std::vector<std::string>{"attached to guest",
                                    "attached to guest",
                                    "attaching it was not finished",
                                    "attaching it was not finished",
                                    "detaching it was not finished",
                                    "detaching it was not finished",
                                    "its check failed",
                                    instance_untold,
                                    device_untold,
                                    instance_untold,
                                    "its journal cannot be read: first",
                                    "its journal cannot be read: first",
                                    device_untold,
                                    instance_untold};
  };
  EXPECT_EQ(said(false), of_claims("", "not told: first"));
  EXPECT_EQ(said(true), of_claims("not told: first", "not told: first"));
  // Of several the last is named, as attached_to() does.
  claims.emplace_back().problem = "second";
  EXPECT_EQ(said(true), of_claims("not told: second", "not told: second"));
  claims.pop_back();
  claims.pop_back();
  EXPECT_EQ(said(true)[8], "");
  EXPECT_EQ(said(true)[9], "");
}

TEST(VmOperations, WhatIsAttachedAndNotAsItWasLeftIsNoted) {
  FakeKernel kernel;
  fill(kernel);
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, for_guest())->ok());
  const auto notes = [&] {
    const auto state = read_state(kernel, "/state");
    const auto attached = attached_to(*state, "guest-1");
    return attached ? join(attached->notes, "; ") : attached.error().message;
  };
  EXPECT_EQ(notes(), "");
  kernel.devices[kGpuText].bound = "nvidia";
  EXPECT_TRUE(contains(notes(), "0000:17:00.0 is attached, but its driver is nvidia")) << notes();
  kernel.devices.erase(kGpuText);
  std::erase_if(kernel.files, [](const auto& file) { return contains(file.first, kGpuText); });
  EXPECT_TRUE(contains(notes(), "0000:17:00.0 is attached, and it is no longer there")) << notes();
}

// libvirt binds it: until then its own driver has it.
TEST(VmOperations, AManagedDeviceMayStillHaveItsDriver) {
  FakeKernel kernel;
  fill(kernel);
  auto hands = kernel.hands(kernel);
  auto request = for_guest();
  request.managed = true;
  ASSERT_TRUE(attach(hands, request)->ok());
  const auto state = read_state(kernel, "/state");
  EXPECT_EQ(state->inventory.find(kGpu)->function.driver, "nvidia");
  const auto attached = attached_to(*state, "guest-1");
  ASSERT_TRUE(attached) << attached.error().message;
  EXPECT_EQ(attached->notes, std::vector<std::string>());
}

TEST(VmOperations, ADeviceOfAGuestHasItsGroupsNode) {
  FakeKernel kernel;
  fill(kernel);
  const auto has_node = [&] {
    const auto device = *read_state(kernel, "/state")->inventory.find(kGpu);
    return std::ranges::count(device.around.nodes,
                              fmt::format("/dev/vfio/{}", *device.function.iommu_group)) == 1;
  };
  EXPECT_FALSE(has_node());
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, for_guest())->ok());
  EXPECT_TRUE(has_node());
}

TEST(VmOperations, AnOpenDeviceIsRefusedAndNothingIsTouched) {
  FakeKernel kernel;
  fill(kernel);
  kernel.files["/sys/bus/pci/devices/0000:17:00.1/sound/card0/pcmC0D3p/dev"] = "116:2\n";
  kernel.open["4711"] = {"/dev/snd/pcmC0D3p"};
  auto hands = kernel.hands(kernel);
  const auto done = attach(hands, for_guest());
  ASSERT_TRUE(done);
  EXPECT_NE(reasons(done->plan).find("process 4711 holds /dev/snd/pcmC0D3p open"),
            std::string::npos)
      << reasons(done->plan);
  EXPECT_TRUE(kernel.is_as_at_first());
  EXPECT_TRUE(kernel.commands.empty());
}

// What cannot be read may hold the device open: that is no proof.
TEST(VmOperations, AProcessThatCannotBeReadPreventsAnUnbind) {
  FakeKernel kernel;
  fill(kernel);
  kernel.refused = 1;
  auto hands = kernel.hands(kernel);
  const auto done = attach(hands, for_guest());
  ASSERT_TRUE(done && done->outcome.error);
  EXPECT_EQ(done->outcome.error->kind, ErrorKind::no_permission);
  EXPECT_TRUE(kernel.is_as_at_first());
}

// Somebody opens it between the plan and the unbind: nothing is unbound, all is taken back.
TEST(VmOperations, IdlenessIsProvenAgainBeforeUnbinding) {
  FakeKernel kernel;
  fill(kernel);
  kernel.files["/sys/bus/pci/devices/0000:17:00.1/sound/card0/pcmC0D3p/dev"] = "116:2\n";
  FailingStorage storage(kernel, {});
  auto hands = kernel.hands(storage);
  hands.progress = [&](std::string_view what) {
    if (what.starts_with("Stop ")) kernel.open["4711"] = {"/dev/snd/pcmC0D3p"};
  };
  const auto done = attach(hands, for_guest());
  ASSERT_TRUE(done && done->outcome.error);
  EXPECT_EQ(done->outcome.error->kind, ErrorKind::busy);
  EXPECT_TRUE(done->outcome.whole());
  EXPECT_TRUE(kernel.is_as_at_first());
  EXPECT_EQ(journal_of(kernel), std::vector<std::string>{"/state/lock"});
}

// ---- eight GPUs behind NVSwitches, here one that goes, one that stays and a switch

constexpr char kOther[] = "0000:65:00.0", kSwitch[] = "0000:07:00.0",
               kFabric[] = "nvidia-fabricmanager.service";

void fill_fabric(FakeKernel& kernel, const std::vector<std::string>& held) {
  kernel.add(kGpuText, {});
  kernel.add(kOther, {.group = 2});
  kernel.add(kSwitch, {.class_code = "0x068000", .group = 3, .native = "nvidia-nvswitch"});
  kernel.drivers.insert("nvidia-nvswitch");
  kernel.files["/proc/driver/nvidia/version"] = "NVRM version: 580.65.06\n";
  for (const auto* address : {kGpuText, kOther})
    kernel.files[std::string("/proc/driver/nvidia/gpus/") + address + "/information"] =
        std::string("Model: \t NVIDIA H100\nDevice Minor: \t ") + (address == kOther ? "1" : "0") +
        "\n";
  kernel.serve(kFabric, "900", "nv-fabricmanage", held);
}

bool stops(const FakeKernel& kernel, const std::string& unit) {
  return std::ranges::find(kernel.commands, "systemctl stop " + unit) != kernel.commands.end();
}

TEST(VmOperations, AServiceThatHoldsNothingThatMovesGoesOn) {
  FakeKernel kernel;
  fill_fabric(kernel, {"/dev/nvidia-nvswitchctl", "/dev/nvidia-nvswitch0"});
  kernel.open["5000"] = {"/dev/nvidia1", "/dev/nvidiactl"};
  auto hands = kernel.hands(kernel);
  const auto done = attach(hands, for_guest());
  ASSERT_TRUE(done && done->ok()) << reasons(done->plan);
  EXPECT_TRUE(kernel.is_given_away({kGpuText}));
  EXPECT_FALSE(stops(kernel, kFabric));
}

TEST(VmOperations, AServiceThatOthersWorkNeedsIsNotStopped) {
  FakeKernel kernel;
  fill_fabric(kernel, {"/dev/nvidia-nvswitch0", "/dev/nvidia0"});
  kernel.open["5000"] = {"/dev/nvidia1"};
  auto hands = kernel.hands(kernel);
  const auto refused = attach(hands, for_guest());
  ASSERT_TRUE(refused);
  EXPECT_TRUE(contains(reasons(refused->plan), kFabric)) << reasons(refused->plan);
  EXPECT_TRUE(contains(reasons(refused->plan), "process 5000 holds /dev/nvidia1 open"));
  EXPECT_TRUE(kernel.commands.empty());

  // It begins between the plan and the stop.
  kernel.open.clear();
  hands.show_plan = [&](const Plan&) { kernel.open["5000"] = {"/dev/nvidia1"}; };
  const auto failed = attach(hands, for_guest());
  ASSERT_TRUE(failed && failed->outcome.error);
  EXPECT_EQ(failed->outcome.error->kind, ErrorKind::busy);
  EXPECT_FALSE(stops(kernel, kFabric));

  kernel.open.clear();
  hands.show_plan = {};
  const auto done = attach(hands, for_guest());
  ASSERT_TRUE(done && done->ok()) << reasons(done->plan);
  EXPECT_TRUE(stops(kernel, kFabric));
  EXPECT_TRUE(kernel.services.contains(kFabric));

  // The GPU that stayed works when the other one comes back.
  kernel.open["5000"] = {"/dev/nvidia1"};
  const auto detached = detach(hands, "guest-1", {});
  ASSERT_TRUE(detached && detached->front().ok());
  EXPECT_TRUE(std::ranges::find(kernel.commands, std::string("systemctl restart ") + kFabric) ==
              kernel.commands.end());
  EXPECT_TRUE(contains(join(detached->front().outcome.notes, "; "), "is not restarted"));
}

// All but one serve the switch, too, which stays.
TEST(VmOperations, AServiceIsStartedAgainWhereADeviceStaysThatItServes) {
  for (const auto& [unit, process, again] :
       {std::tuple{kFabric, "nv-fabricmanage", true},
        {"nvidia-dcgm.service", "nv-hostengine", true},
        {"dcgm.service", "nv-hostengine", true},
        {"dcgm-exporter.service", "dcgm-exporter", true},
        {"nvidia-persistenced.service", "nvidia-persiste", false}}) {
    FakeKernel kernel;
    fill_fabric(kernel, {});
    kernel.services.clear();
    kernel.serve(unit, "900", process, {"/dev/nvidia0"});
    auto hands = kernel.hands(kernel);
    const auto done =
        attach(hands, {.name = "guest-1", .devices = {kGpu, *parse_pci_address(kOther)}});
    ASSERT_TRUE(done && done->ok()) << unit << reasons(done->plan);
    EXPECT_TRUE(stops(kernel, unit)) << unit;
    EXPECT_EQ(kernel.services.contains(unit), again) << unit;
  }
}

TEST(VmOperations, AServiceThatAnotherGuestNeedsIsNotStopped) {
  FakeKernel kernel;
  fill_fabric(kernel, {"/dev/nvidia-nvswitch0", "/dev/nvidia0"});
  auto hands = kernel.hands(kernel);
  const auto first = attach(hands, {.name = "guest-1", .devices = {*parse_pci_address(kOther)}});
  ASSERT_TRUE(first && first->ok()) << reasons(first->plan);
  const auto refused = attach(hands, {.name = "guest-2", .devices = {kGpu}});
  ASSERT_TRUE(refused);
  EXPECT_TRUE(contains(reasons(refused->plan), "is attached to guest-1"));
  const auto same = attach(hands, {.name = "guest-1", .devices = {kGpu}});
  ASSERT_TRUE(same && same->ok()) << reasons(same->plan);
}

TEST(VmOperations, AFileWithoutTwoNumbersIsNoJournal) {
  FakeKernel kernel;
  fill(kernel);
  for (const char* name : {"x.1.attach.jsonl", "1.x.attach.jsonl", "4294967296.1.attach.jsonl",
                           "1.4294967296.attach.jsonl"})
    ASSERT_TRUE(kernel.disk.create(std::string("/state/") + name, 0600));
  const auto claims = read_journal(kernel, "/state");
  ASSERT_TRUE(claims);
  EXPECT_TRUE(claims->empty());
}

TEST(VmOperations, ASwitchIsInUseWhileWhatItLinksIs) {
  FakeKernel kernel;
  fill_fabric(kernel, {});
  const auto reason = [&] {
    const auto state = read_state(kernel, "/state");
    return state ? state->inventory.find(*parse_pci_address(kSwitch))->around.reason : "?";
  };
  EXPECT_EQ(reason(), "");
  kernel.open["5000"] = {"/dev/nvidia1"};
  EXPECT_TRUE(contains(reason(), "0000:65:00.0, which it may link, is in use: process 5000"));
  kernel.open["5000"] = {"/dev/nvidia-nvswitch3"};
  EXPECT_TRUE(contains(reason(), "process 5000 holds /dev/nvidia-nvswitch3 open"));
  kernel.open["5000"] = {"/dev/nvidia-nvswitchctl"};
  EXPECT_TRUE(contains(reason(), "process 5000 holds /dev/nvidia-nvswitchctl open"));
}

TEST(VmOperations, ADriverThatNeverReturnsLosesNothingElse) {
  FakeKernel kernel;
  fill(kernel);
  kernel.devices[kAudioText].hangs_at = "unbind";
  auto hands = kernel.hands(kernel);
  const auto done = attach(hands, for_guest());
  ASSERT_TRUE(done && done->outcome.error);
  EXPECT_EQ(done->outcome.error->kind, ErrorKind::hung);
  EXPECT_NE(done->outcome.error->message.find("nv_pci_remove"), std::string::npos);
  EXPECT_FALSE(done->outcome.whole());  // the journal stays: recover goes on when it returned
  EXPECT_EQ(kernel.devices[kGpuText].bound, "nvidia");  // taken back
  EXPECT_EQ(kernel.devices[kAudioText].bound, "snd_hda_intel");
  const auto state = read_state(kernel, "/state");
  ASSERT_TRUE(state && state->claims.size() == 1);
  EXPECT_EQ(state_of(state->claims[0]), ClaimState::attaching);
  // No process may have it meanwhile.
  EXPECT_EQ(state->inventory.find(kGpu)->around.readiness, Readiness::needs);

  kernel.devices[kAudioText].hangs_at.clear();
  kernel.devices[kAudioText].bound.clear();  // the driver returned at last
  const auto recovered = recover(hands);
  ASSERT_TRUE(recovered);
  EXPECT_TRUE(kernel.is_as_at_first());
  EXPECT_EQ(journal_of(kernel), std::vector<std::string>{"/state/lock"});
}

// A kernel that keeps other values than those that are written.
struct Stubborn : FakeKernel {
  std::map<std::string, std::string> kept;  // by path
  Result<void> write_attribute(const std::string& path, std::string_view bytes) override {
    TRY(FakeKernel::write_attribute(path, bytes));
    if (const auto other = kept.find(path); other != kept.end()) files[path] = other->second + "\n";
    return {};
  }
};

// Its memory may be too fragmented for all of them. Pages that are used stay where fewer are asked
// for.
TEST(VmOperations, FewerHugePagesThanAskedForAreNotEnough) {
  const std::string pool = "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/",
                    pages = pool + "nr_hugepages";
  for (const auto& [granted, enough] : {std::pair{"511", false}, {"512", true}, {"513", true}}) {
    SCOPED_TRACE(granted);
    Stubborn kernel;
    fill(kernel);
    kernel.files[pages] = kernel.files[pool + "free_hugepages"] = "0\n";
    kernel.kept[pages] = granted;
    auto hands = kernel.hands(kernel);
    auto request = for_guest();
    request.huge_pages = huge_pages(1, "2M");
    const auto done = attach(hands, request);
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_EQ(done->ok(), enough) << reasons(done->plan);
    if (enough) {
      const auto detached = detach(hands, "guest-1", {});
      ASSERT_TRUE(detached && detached->size() == 1);
      EXPECT_TRUE(detached->front().ok());
    } else {
      EXPECT_EQ(done->outcome.error.value_or(Error{}).message,
                pages + ": reads \"511\" after \"512\" was written");
    }
    EXPECT_TRUE(kernel.is_as_at_first());
  }
}

TEST(VmOperations, AnAttributeThatKeepsAnotherValueIsAnError) {
  Stubborn kernel;
  fill(kernel);
  const auto path = FakeKernel::kBus + "devices/" + kGpuText + "/d3cold_allowed";
  kernel.kept[path] = "1";
  auto hands = kernel.hands(kernel);
  const auto done = attach(hands, for_guest());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->outcome.error.value_or(Error{}).message,
            path + ": reads \"1\" after \"0\" was written");
  EXPECT_TRUE(kernel.is_as_at_first());
}

// What could not be taken back is not "rolled back": recover goes on with the detach.
TEST(VmOperations, ADetachThatHangsIsNotEnded) {
  FakeKernel kernel;
  fill(kernel);
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, for_guest())->ok());
  kernel.devices[kGpuText].hangs_at = "unbind";
  const auto detached = detach(hands, "guest-1", {});
  ASSERT_TRUE(detached && detached->size() == 1);
  EXPECT_FALSE(detached->front().outcome.whole());
  const auto state = read_state(kernel, "/state");
  ASSERT_TRUE(state && state->claims.size() == 1);
  EXPECT_EQ(state_of(state->claims[0]), ClaimState::detaching);

  kernel.devices[kGpuText].hangs_at.clear();
  kernel.devices[kGpuText].bound.clear();  // the driver returned at last
  ASSERT_TRUE(recover(hands));
  EXPECT_TRUE(kernel.is_as_at_first());
}

// The device may not react to anything any more: a second reset would hang as well.
TEST(VmOperations, AResetThatHangsIsTheLast) {
  FakeKernel kernel;
  kernel.add(kGpuText, {});
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, for_guest())->ok());
  auto& method = kernel.files[std::string("/sys/bus/pci/devices/") + kGpuText + "/reset_method"];
  kernel.devices[kGpuText].hangs_at = "reset";
  method = "flr bus\n";
  const auto detached = detach(hands, "guest-1", {});
  ASSERT_TRUE(detached && detached->front().outcome.error);
  EXPECT_EQ(detached->front().outcome.error->kind, ErrorKind::hung);
  EXPECT_EQ(method, "flr bus\n");
}

// It was stopped and nothing here needed it.
TEST(VmOperations, AServiceOfTheOnlyGpuRunsAgainWhenItComesBack) {
  FakeKernel kernel;
  kernel.add(kGpuText, {});
  kernel.serve("nvidia-persistenced.service", "812", "nvidia-persiste", {"/dev/nvidia0"});
  auto hands = kernel.hands(kernel);
  const auto attached = attach(hands, for_guest());
  ASSERT_TRUE(attached && attached->ok()) << reasons(attached->plan);
  EXPECT_FALSE(kernel.services.contains("nvidia-persistenced.service"));
  ASSERT_TRUE(detach(hands, "guest-1", {}));
  EXPECT_TRUE(kernel.is_as_at_first());
}

bool recovers(Hands& hands) {
  const auto done = recover(hands);
  return done && !done->empty() && done->front().ok();
}

// Ctrl-C while the host's driver has it again, and a program that found it.
TEST(VmOperations, WhatIsUsedAgainIsNotTakenBack) {
  FakeKernel kernel;
  kernel.add(kGpuText, {});
  kernel.add(kAudioText, {.class_code = "0x040300", .native = "snd_hda_intel"});
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, for_guest())->ok());
  std::atomic<bool> cancel = false;
  hands.cancel = &cancel;
  kernel.devices[kAudioText].node = "/dev/snd/pcmC0D3p";
  kernel.files["/sys/bus/pci/devices/0000:17:00.1/sound/card0/pcmC0D3p/dev"] = "116:2\n";
  hands.progress = [&](std::string_view what) {
    if (!contains(what, "/power/control")) return;
    kernel.open["4711"] = {"/dev/snd/pcmC0D3p"};
    cancel = true;
  };
  const auto detached = detach(hands, "guest-1", {});
  ASSERT_TRUE(detached && detached->front().outcome.error);
  EXPECT_TRUE(contains(join(detached->front().outcome.left, "; "), "process 4711 holds"));
  EXPECT_EQ(kernel.devices[kAudioText].bound, "snd_hda_intel");
  cancel = false;
  hands.progress = nullptr;
  kernel.open.clear();
  EXPECT_TRUE(recovers(hands));
  EXPECT_TRUE(kernel.is_as_at_first());
}

// It died before its last line, and somebody started the virtual machine all the same.
TEST(VmOperations, WhatAGuestHasIsNotTakenBack) {
  FakeKernel kernel;
  fill(kernel);
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, for_guest())->ok());
  const std::string journal = "/state/000001.1.attach.jsonl";
  auto text = *kernel.disk.content(journal);
  text.erase(text.find("{\"end\""));
  ASSERT_TRUE(kernel.disk.unlink(journal));
  ASSERT_TRUE((*kernel.disk.create(journal, 0600))->write(text));
  kernel.open["4711"] = {"/dev/vfio/1"};
  const auto refused = recover(hands);
  ASSERT_TRUE(refused && !refused->empty() && refused->front().outcome.error);
  EXPECT_TRUE(contains(refused->front().outcome.error->message, "4711"));
  EXPECT_TRUE(kernel.is_given_away({kGpuText, kAudioText}));
  kernel.open.clear();
  EXPECT_TRUE(recovers(hands));
  EXPECT_TRUE(kernel.is_as_at_first());
}

// Another program, or another library, could say that a device in quarantine is clean.
TEST(VmOperations, VariablesThatReplaceProgramsAreRefused) {
  for (const char* variable : {"GPUREADY_HELPER", "GPUREADY_LIBNVML"}) {
    struct WithVariable : FakeKernel {
      std::string named;
      std::optional<std::string> environment(const std::string& name) override {
        return name == named ? std::optional<std::string>("/bin/fake") : std::nullopt;
      }
    } kernel;
    kernel.named = variable;
    kernel.add(kGpuText, {});
    auto hands = kernel.hands(kernel);
    const auto expect_refused = [&](const auto& result) {
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().kind, ErrorKind::bad_input);
      EXPECT_TRUE(contains(result.error().message, variable)) << result.error().message;
    };
    expect_refused(attach(hands, for_guest()));
    expect_refused(detach(hands, "guest-1", {}));
    expect_refused(recover(hands));
    expect_refused(hold(hands));
  }
}

// The device is back and clean; that a service does not start is another matter.
TEST(VmOperations, AServiceThatDoesNotStartKeepsNoDevice) {
  FakeKernel kernel;
  kernel.add(kGpuText, {});
  kernel.serve("nvidia-dcgm.service", "812", "nv-hostengine", {"/dev/nvidia0"});
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, for_guest())->ok());
  kernel.broken_services.insert("nvidia-dcgm.service");
  const auto detached = detach(hands, "guest-1", {});
  ASSERT_TRUE(detached);
  EXPECT_TRUE(detached->front().ok()) << detached->front().outcome.error.value_or(Error{}).message;
  EXPECT_TRUE(contains(join(detached->front().outcome.notes, "; "), "nvidia-dcgm.service"));
  EXPECT_EQ(kernel.devices[kGpuText].bound, "nvidia");
  EXPECT_TRUE(read_state(kernel, "/state")->claims.empty());
}

// A driver sets power management when it takes a device: what was there before is written after it.
TEST(VmOperations, PowerManagementIsRestoredAfterTheDriverIsBack) {
  FakeKernel kernel;
  fill(kernel);
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, for_guest())->ok());
  const auto detached = detach(hands, "guest-1", {});
  ASSERT_TRUE(detached && detached->front().ok());
  const auto& steps = detached->front().plan.steps;
  const auto place = [&](auto is_it) {
    return std::ranges::find_if(
               steps,
               [&](const PlanStep& step) { return step.act.device == kGpu && is_it(step.act); }) -
           steps.begin();
  };
  const auto bound = place([](const PlanAction& act) {
    return act.kind == ActionKind::bind && !contains(act.value, "vfio");
  });
  const auto powered = place([](const PlanAction& act) { return act.path.ends_with("/control"); });
  const auto freed =
      place([](const PlanAction& act) { return act.path.ends_with("/driver_override"); });
  EXPECT_LT(freed, bound);
  EXPECT_LT(bound, powered);
  EXPECT_LT(powered, std::ssize(steps));
}

TEST(VmOperations, ASwitchThatVfioHasIsNotHeldByTheFabricManager) {
  FakeKernel kernel;
  fill_fabric(kernel, {"/dev/nvidia-nvswitchctl"});
  kernel.devices[kSwitch].bound = "vfio-pci";
  const auto state = read_state(kernel, "/state");
  ASSERT_TRUE(state);
  const auto& around = state->inventory.find(*parse_pci_address(kSwitch))->around;
  EXPECT_TRUE(around.uses.empty()) << around.uses.front().what;
}

TEST(VmOperations, ADeviceThatFailsItsTestStaysInQuarantine) {
  FakeKernel kernel;
  fill(kernel);
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, for_guest())->ok());
  kernel.clean_passes = false;
  const auto detached = detach(hands, "guest-1", {});
  ASSERT_TRUE(detached);
  EXPECT_TRUE(detached->front().outcome.unclean.contains(kGpu));
  EXPECT_TRUE(kernel.is_as_at_first());  // its driver has it, and nobody else gets it
  const auto refused = attach(hands, for_guest());
  ASSERT_TRUE(refused);
  EXPECT_NE(reasons(refused->plan).find("needs cleaning"), std::string::npos);

  kernel.clean_passes = true;
  const auto recovered = recover(hands);
  ASSERT_TRUE(recovered && recovered->size() == 1 && recovered->front().ok());
  EXPECT_TRUE(attach(hands, for_guest())->ok());
}

TEST(VmOperations, OneThatVfioHadAlreadyIsResetWhenItComesBack) {
  FakeKernel kernel;
  kernel.add(kGpuText, {});
  kernel.devices[kGpuText].bound = "vfio-pci";
  auto hands = kernel.hands(kernel);
  const auto attached = attach(hands, for_guest());
  ASSERT_TRUE(attached && attached->ok()) << reasons(attached->plan);
  EXPECT_EQ(kernel.devices[kGpuText].resets, 0);
  const auto detached = detach(hands, "guest-1", {});
  ASSERT_TRUE(detached && detached->front().ok());
  EXPECT_EQ(kernel.devices[kGpuText].resets, 1);
  EXPECT_TRUE(detached->front().outcome.unclean.empty())
      << detached->front().outcome.unclean.begin()->second;
  EXPECT_EQ(kernel.devices[kGpuText].bound, "vfio-pci");
}

TEST(VmOperations, OneThatLibvirtBoundNeedsNoRestartToBeClean) {
  FakeKernel kernel;
  fill(kernel);
  auto hands = kernel.hands(kernel);
  auto request = for_guest();
  request.managed = true;
  const auto attached = attach(hands, request);
  ASSERT_TRUE(attached && attached->ok()) << reasons(attached->plan);
  EXPECT_EQ(kernel.devices[kGpuText].bound, "nvidia");
  const auto detached = detach(hands, "guest-1", {});
  ASSERT_TRUE(detached && detached->front().ok());
  EXPECT_TRUE(detached->front().outcome.unclean.empty())
      << detached->front().outcome.unclean.begin()->second;
  EXPECT_TRUE(std::ranges::find(kernel.commands, "check") != kernel.commands.end());
}

TEST(VmOperations, ADeviceWithoutAResetWaitsForARestart) {
  FakeKernel kernel;
  fill(kernel);
  kernel.files[std::string("/sys/bus/pci/devices/") + kGpuText + "/reset_method"] = "\n";
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, for_guest())->ok());
  const auto detached = detach(hands, "guest-1", {});
  ASSERT_TRUE(detached);
  EXPECT_TRUE(detached->front().outcome.unclean.contains(kGpu));  // its memory was overwritten
  ASSERT_TRUE(recover(hands));                                    // the same boot
  EXPECT_FALSE(attach(hands, for_guest())->plan.refusals.empty());

  kernel.files["/proc/sys/kernel/random/boot_id"] = "22222222-1111-1111-1111-111111111111\n";
  const auto recovered = recover(hands);
  ASSERT_TRUE(recovered && recovered->size() == 1 && recovered->front().ok());
  EXPECT_EQ(journal_of(kernel), std::vector<std::string>{"/state/lock"});
  EXPECT_TRUE(attach(hands, for_guest())->ok());
}

// The GPU has no reset but its bus's, which its audio function shares.
void share_bus_reset(FakeKernel& kernel) {
  for (const std::string address : {kGpuText, kAudioText}) {
    const auto folder = "/sys/bus/pci/devices/" + address;
    kernel.files[folder + "/reset_method"] = "bus\n";
    kernel.places[folder] = "/sys/devices/pci0000:16/0000:16:01.0/" + address;
  }
}

TEST(VmOperations, FunctionsOfOneSlotAreResetTogetherByVfio) {
  FakeKernel kernel;
  fill(kernel);
  share_bus_reset(kernel);
  auto hands = kernel.hands(kernel);
  const auto attached = attach(hands, for_guest());
  ASSERT_TRUE(attached && attached->ok());
  EXPECT_TRUE(attached->plan.warnings.empty()) << join(attached->plan.warnings, "; ");
  EXPECT_EQ(kernel.devices[kGpuText].resets, 1);
  EXPECT_EQ(kernel.devices[kAudioText].resets, 1);
  const auto detached = detach(hands, "guest-1", {});
  ASSERT_TRUE(detached && detached->front().ok());
  EXPECT_TRUE(detached->front().outcome.unclean.empty());
  EXPECT_EQ(kernel.devices[kGpuText].resets, 2);
  EXPECT_EQ(kernel.devices[kAudioText].resets, 2);
  EXPECT_TRUE(kernel.is_as_at_first());
}

// libvirt returns devices to their drivers after a reset of its own; without a driver, no one did.
TEST(VmOperations, WhatLibvirtLeftWithoutADriverWasNotReset) {
  FakeKernel kernel;
  fill(kernel);
  share_bus_reset(kernel);
  auto hands = kernel.hands(kernel);
  auto request = for_guest();
  request.managed = true;
  ASSERT_TRUE(attach(hands, request)->ok());
  kernel.devices[kAudioText].bound = kernel.devices[kGpuText].bound = "";
  const auto detached = detach(hands, "guest-1", {});
  ASSERT_TRUE(detached);
  ASSERT_TRUE(detached->front().outcome.error);
  EXPECT_TRUE(contains(detached->front().outcome.error->message, "restart the machine"));
  EXPECT_EQ(read_state(kernel, "/state")->inventory.find(kGpu)->around.attached_to, "guest-1");
}

// Another device on the bus stays with the host.
TEST(VmOperations, NoBusIsResetUnderOthers) {
  FakeKernel kernel;
  fill(kernel);
  share_bus_reset(kernel);
  kernel.add("0000:17:01.0", {.class_code = "0x020000", .group = 5, .native = "nvme"});
  auto hands = kernel.hands(kernel);
  const auto attached = attach(hands, for_guest());
  ASSERT_TRUE(attached && attached->ok());
  EXPECT_TRUE(contains(join(attached->plan.warnings, "; "), "without others on its bus"));
  EXPECT_EQ(kernel.devices[kGpuText].resets, 0);
}

TEST(VmOperations, ADeviceWithoutAResetIsBackAfterARestart) {
  FakeKernel kernel;
  fill(kernel);
  kernel.files[std::string("/sys/bus/pci/devices/") + kGpuText + "/reset_method"] = "\n";
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, for_guest())->ok());
  for (auto& [address, device] : kernel.devices) {  // what a restart does
    device.bound = device.native;
    device.override_.clear();
  }
  kernel.files["/proc/sys/kernel/random/boot_id"] = "22222222-1111-1111-1111-111111111111\n";
  const auto recovered = recover(hands);
  ASSERT_TRUE(recovered && recovered->size() == 1);
  EXPECT_TRUE(recovered->front().outcome.unclean.empty());
  EXPECT_TRUE(attach(hands, for_guest())->ok());
}

TEST(VmOperations, NoDriverGetsAnUndecidedDeviceAtBoot) {
  FakeKernel kernel;
  fill(kernel);
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, for_guest())->ok());
  restart_and_hold(kernel, hands);
  EXPECT_EQ(kernel.devices[kGpuText].bound, "");
  EXPECT_EQ(kernel.devices[kAudioText].bound, "");
  EXPECT_EQ(kernel.devices["0000:65:00.0"].bound, "nvidia");
  const auto recovered = recover(hands);
  ASSERT_TRUE(recovered && recovered->size() == 1 && recovered->front().ok());
  EXPECT_TRUE(kernel.is_as_at_first());
  EXPECT_EQ(kernel.devices[kGpuText].resets, 2) << "before its driver has it again";
  EXPECT_TRUE(hold(hands)->empty());
}

TEST(VmOperations, WhatWasHeldForLibvirtGetsItsDriver) {
  FakeKernel kernel;
  fill(kernel);
  auto hands = kernel.hands(kernel);
  auto request = for_guest();
  request.managed = true;
  ASSERT_TRUE(attach(hands, request)->ok());
  restart_and_hold(kernel, hands);
  EXPECT_EQ(kernel.devices[kAudioText].bound, "");
  const auto recovered = recover(hands);
  ASSERT_TRUE(recovered && recovered->size() == 1 && recovered->front().ok());
  EXPECT_TRUE(kernel.is_as_at_first());
}

TEST(VmOperations, WhatIsHeldInQuarantineIsReleasedBeforeItsTest) {
  FakeKernel kernel;
  fill(kernel);
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, for_guest())->ok());
  kernel.clean_passes = false;
  ASSERT_TRUE(detach(hands, "guest-1", {}));
  restart_and_hold(kernel, hands);
  EXPECT_EQ(kernel.devices[kGpuText].bound, "");
  kernel.clean_passes = true;
  const auto recovered = recover(hands);
  ASSERT_TRUE(recovered && recovered->size() == 1 && recovered->front().ok());
  EXPECT_TRUE(kernel.is_as_at_first());
}

TEST(VmOperations, OnlyAnotherBootsClaimsAreHeld) {
  FakeKernel kernel;
  fill(kernel);
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, for_guest())->ok());
  EXPECT_TRUE(hold(hands)->empty());
  kernel.restart(MemoryStorage::Names::all);  // its driver was in the initramfs
  const auto late = hold(hands);
  ASSERT_TRUE(late && late->size() == 1 && late->front().ok());
  EXPECT_TRUE(contains(join(late->front().outcome.notes, "; "), "initramfs"));
  EXPECT_EQ(kernel.devices[kGpuText].override_, "");
}

TEST(VmOperations, AnotherVbiosKeepsADeviceInQuarantine) {
  FakeKernel kernel;
  fill(kernel);
  const std::string rom = std::string("/sys/bus/pci/devices/") + kGpuText + "/rom";
  kernel.files[rom] = "the maker's";
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, for_guest())->ok());
  kernel.files[rom] = "the guest's";
  const auto detached = detach(hands, "guest-1", {});
  ASSERT_TRUE(detached);
  ASSERT_TRUE(detached->front().outcome.unclean.contains(kGpu));
  EXPECT_TRUE(contains(detached->front().outcome.unclean.at(kGpu), "VBIOS"));
  // That its memory is clean changes nothing, nor does a ROM that can no longer be read.
  kernel.files[rom] = "";
  ASSERT_TRUE(recover(hands));
  EXPECT_FALSE(attach(hands, for_guest())->plan.refusals.empty());
  kernel.files[rom] = "the maker's";
  ASSERT_TRUE(recover(hands));
  EXPECT_TRUE(attach(hands, for_guest())->ok());
}

// One of two comes back clean and goes to another guest: a restart does not let the claim of the
// first give it to the host. Journals of before this do not say that it returned.
TEST(VmOperations, WhatReturnedIsOfTheNextClaimOnly) {
  for (const bool is_told : {true, false}) {
    FakeKernel kernel;
    fill(kernel);
    const PciAddress second = *parse_pci_address("0000:65:00.0");
    const std::string rom = std::string("/sys/bus/pci/devices/") + kGpuText + "/rom";
    kernel.files[rom] = "the maker's";
    auto hands = kernel.hands(kernel);
    ASSERT_TRUE(attach(hands, {.name = "guest-1", .devices = {kGpu, second}})->ok());
    kernel.files[rom] = "the guest's";
    const auto detached = detach(hands, "guest-1", {});
    ASSERT_TRUE(detached && detached->front().outcome.unclean.size() == 1);
    // Functions of one slot return together.
    EXPECT_EQ(read_state(kernel, "/state")->claims.front().attached().devices,
              (std::vector{kGpu, *parse_pci_address(kAudioText)}));
    if (!is_told) {
      const std::string journal = "/state/000001.2.detach.jsonl";
      auto text = *kernel.disk.content(journal);
      const auto at = text.find("{\"returned\"");
      ASSERT_NE(at, text.npos);
      text.erase(at, text.find('\n', at) + 1 - at);
      ASSERT_TRUE(kernel.disk.unlink(journal));
      const auto file = *kernel.disk.create(journal, 0600);
      ASSERT_TRUE(file->write(text) && file->sync() && kernel.disk.sync_folder("/state"));
    }
    ASSERT_TRUE(attach(hands, {.name = "guest-2", .devices = {second}})->ok());
    const int resets = kernel.devices["0000:65:00.0"].resets;
    restart_and_hold(kernel, hands);
    ASSERT_TRUE(recover(hands));
    EXPECT_EQ(kernel.devices["0000:65:00.0"].resets, resets + 1) << "before its driver has it";
    EXPECT_TRUE(kernel.is_as_at_first());
  }
}

// PCI Express option ROMs have at most 16 MiB.
TEST(VmOperations, ARomOfMoreThan32MiBIsNotNoted) {
  for (const std::size_t mebibytes : {32, 33}) {
    FakeKernel kernel;
    fill(kernel);
    kernel.files[std::string("/sys/bus/pci/devices/") + kGpuText + "/rom"] =
        std::string(mebibytes << 20, 'r');
    auto hands = kernel.hands(kernel);
    const auto attached = attach(hands, for_guest());
    ASSERT_TRUE(attached && attached->ok());
    EXPECT_EQ(attached->outcome.vbios.contains(kGpu), mebibytes == 32);
  }
}

TEST(VmOperations, ADeviceThatVanishesMidwayLosesNothingElse) {
  FakeKernel kernel;
  fill(kernel);
  auto hands = kernel.hands(kernel);
  hands.progress = [&](std::string_view what) {
    if (what.starts_with("Unbind 0000:17:00.1")) kernel.devices.erase(kGpuText);
  };
  const auto done = attach(hands, for_guest());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_FALSE(done->ok());
  EXPECT_EQ(kernel.devices[kAudioText].bound, "snd_hda_intel");
  EXPECT_TRUE(kernel.services.contains("nvidia-persistenced.service"));
}

// ---- claims know their devices, whatever addresses they have

constexpr char kMovedText[] = "0000:18:00.0";

void put_into_slot(FakeKernel& kernel, const char* address, const char* port) {
  kernel.places[FakeKernel::kBus + "devices/" + address] =
      std::string("/sys/devices/pci0000:00/0000:00:") + port + "/" + address;
}

TEST(VmOperations, ADeviceKeepsItsClaimWhenAddressesMove) {
  FakeKernel kernel;
  kernel.add(kGpuText, {});
  put_into_slot(kernel, kGpuText, "02.0");
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, for_guest())->ok());
  kernel.move(kGpuText, kMovedText);
  kernel.places[FakeKernel::kBus + "devices/" + kMovedText] =
      "/sys/devices/pci0000:00/0000:00:02.0/0000:18:00.0";
  kernel.add(kGpuText, {.group = 2});
  put_into_slot(kernel, kGpuText, "01.0");
  const auto state = read_state(kernel, "/state");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->inventory.find(kGpu)->around.readiness, Readiness::ready)
      << state->inventory.find(kGpu)->around.reason;
  EXPECT_EQ(state->inventory.find(*parse_pci_address(kMovedText))->around.attached_to, "guest-1");
  const auto detached = detach(hands, "guest-1", {});
  ASSERT_TRUE(detached && detached->front().ok());
  EXPECT_TRUE(kernel.is_as_at_first());
  EXPECT_EQ(kernel.devices[kGpuText].resets, 0);
}

// PCI Express Base Specification, 7.9.3: all functions of a card have the same serial number; those
// of a network card have the same ids, too.
TEST(VmOperations, FunctionsOfACardStayApartWhenItMoves) {
  FakeKernel kernel;
  const std::string config = std::string(0x100, '\0') + std::string(
                                                            "\3\0\1\0"
                                                            "12345678",
                                                            12);
  for (const char* address : {"0000:17:00.0", "0000:17:00.1"}) {
    kernel.add(address, {});
    kernel.files[FakeKernel::kBus + "devices/" + address + "/config"] = config;
  }
  Device port;
  port.function.address = *parse_pci_address("0000:17:00.1");
  Plan plan;
  plan.operation = "attach";
  plan.name = "guest-1";
  plan.devices = {port.function.address};
  plan.identities = {identity_of(kernel, port)};
  ASSERT_TRUE(plan.identities.front().serial);
  ASSERT_TRUE(JournalWriter::begin(kernel, "/state", 1, 1, plan, {}));
  const auto claimed = [&] {
    const auto claims = read_claims(kernel, "/state", Machine{});
    if (!claims || claims->size() != 1 || !claims->front().problem.empty()) {
      ADD_FAILURE() << (claims && !claims->empty() ? claims->front().problem : "no claim");
      return std::vector<PciAddress>();
    }
    return claims->front().attached().devices;
  };
  EXPECT_EQ(claimed(), std::vector{*parse_pci_address("0000:17:00.1")});
  kernel.move("0000:17:00.0", "0000:18:00.0");
  kernel.move("0000:17:00.1", "0000:18:00.1");
  EXPECT_EQ(claimed(), std::vector{*parse_pci_address("0000:18:00.1")});
}

TEST(VmOperations, SevenOfEightReturn) {
  FakeKernel kernel;
  AttachRequest request{.name = "guest-1", .devices = {}};
  for (int i = 1; i <= 8; ++i) {
    const auto address = fmt::format("0000:0{}:00.0", i);
    kernel.add(address, {.group = i});
    request.devices.push_back(*parse_pci_address(address));
  }
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, request)->ok());
  const std::string dead = "0000:03:00.0";
  kernel.devices[dead].hangs_at = "unbind";
  const auto detached = detach(hands, "guest-1", {});
  ASSERT_TRUE(detached);
  EXPECT_EQ(detached->front().outcome.left,
            std::vector<std::string>{"Unbind 0000:03:00.0 from vfio-pci"});
  for (const auto& [address, device] : kernel.devices)
    EXPECT_EQ(device.bound, address == dead ? "vfio-pci" : "nvidia") << address;
  const auto state = read_state(kernel, "/state");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->inventory.find(request.devices[0])->around.readiness, Readiness::ready);
  EXPECT_EQ(state->claims.front().attached().devices, std::vector{request.devices[2]});
  // The operator lets it go as it is, or its driver returns.
  ASSERT_TRUE(recover(hands, {request.devices[2]}));
  EXPECT_TRUE(read_state(kernel, "/state")->claims.empty());
}

TEST(VmOperations, ADeviceThatIsGoneStaysInQuarantineOrIsLetGo) {
  for (const bool let_go : {false, true}) {
    FakeKernel kernel;
    kernel.add(kGpuText, {});
    kernel.add("0000:65:00.0", {.group = 2});
    put_into_slot(kernel, kGpuText, "02.0");
    put_into_slot(kernel, "0000:65:00.0", "03.0");
    auto hands = kernel.hands(kernel);
    auto request = for_guest();
    request.devices.push_back(*parse_pci_address("0000:65:00.0"));
    ASSERT_TRUE(attach(hands, request)->ok());
    kernel.move(kGpuText, "0000:77:00.0");
    put_into_slot(kernel, "0000:77:00.0", "09.0");  // it looks like another device
    const auto detached = detach(hands, "guest-1", {});
    ASSERT_TRUE(detached);
    EXPECT_EQ(detached->front().outcome.unclean.size(), 1u);
    EXPECT_EQ(kernel.devices["0000:65:00.0"].bound, "nvidia");
    EXPECT_TRUE(read_state(kernel, "/state")->claims.front().attached().devices.empty())
        << "the other one returned";
    if (let_go) {
      ASSERT_TRUE(recover(hands, {kGpu}));
      EXPECT_TRUE(read_state(kernel, "/state")->claims.empty());
      continue;
    }
    kernel.move("0000:77:00.0", kGpuText);
    put_into_slot(kernel, kGpuText, "02.0");
    EXPECT_TRUE(read_state(kernel, "/state")->inventory.find(kGpu)->around.quarantine);
    const auto recovered = recover(hands, {});
    ASSERT_TRUE(recovered && recovered->front().ok());
    EXPECT_TRUE(kernel.is_as_at_first());
    EXPECT_TRUE(read_state(kernel, "/state")->claims.empty());
  }
}

TEST(VmOperations, ADriverThatWasUnloadedIsLoadedForItsDevice) {
  FakeKernel kernel;
  kernel.add(kGpuText, {});
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, for_guest())->ok());
  kernel.drivers.erase("nvidia");
  const auto detached = detach(hands, "guest-1", {});
  ASSERT_TRUE(detached && detached->front().ok());
  EXPECT_TRUE(kernel.is_as_at_first());
}

TEST(VmOperations, AClaimedDeviceHasItsUuidStill) {
  Claim claim;
  auto& identity = claim.operations.emplace_back().plan.identities.emplace_back();
  identity.address = kGpu;
  identity.uuid = "GPU-aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee";
  for (const char* text :
       {"GPU-AAAAAAAA-bbbb-cccc-dddd-eeeeeeeeeeee", "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"})
    EXPECT_EQ(claimed_device({claim}, text), kGpu) << text;
  EXPECT_EQ(claimed_device({claim}, "GPU-aaaaaaaa"), std::nullopt);
}

TEST(VmOperations, TheOperatorMayAcceptWhatCannotBeTested) {
  FakeKernel kernel;
  fill(kernel);
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, for_guest())->ok());
  kernel.clean_passes = false;
  ASSERT_TRUE(detach(hands, "guest-1", {}));
  ASSERT_TRUE(recover(hands, {kGpu}));
  EXPECT_TRUE(attach(hands, for_guest())->ok());
}

TEST(VmOperations, TwoCallersAtOnce) {
  FakeKernel kernel;
  fill(kernel);
  auto hands = kernel.hands(kernel);
  const auto lock = kernel.lock("/state/lock");
  const auto done = attach(hands, for_guest());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::busy);
  EXPECT_TRUE(kernel.is_as_at_first());
}

// ---- every write fails once, and every one is the last before the power goes

void recover_to_whole(FakeKernel& kernel, const std::string& where) {
  auto hands = kernel.hands(kernel);
  const auto recovered = recover(hands);
  ASSERT_TRUE(recovered) << where << recovered.error().message;
  for (const auto& done : *recovered)
    EXPECT_TRUE(done.ok()) << where << done.outcome.error.value_or(Error{}).message;
  const auto state = read_state(kernel, "/state");
  ASSERT_TRUE(state) << where;
  if (state->claims.empty()) {
    EXPECT_TRUE(kernel.is_as_at_first()) << where;
  } else {
    ASSERT_EQ(state->claims.size(), 1u) << where;
    EXPECT_EQ(state_of(state->claims[0]), ClaimState::attached) << where;
    EXPECT_TRUE(kernel.is_given_away({kGpuText, kAudioText})) << where;
    ASSERT_TRUE(detach(hands, "guest-1", {})) << where;
    EXPECT_TRUE(kernel.is_as_at_first()) << where;
  }
}

enum class Then { goes_on, process_dies, power_cut_names_all, power_cut_names_synced };

void walk(bool detaching, Then then, void (*change)(FakeKernel&) = [](FakeKernel&) {}) {
  for (std::size_t at = 1;; ++at) {
    FakeKernel kernel;
    fill(kernel);
    change(kernel);
    if (detaching) {
      auto before = kernel.hands(kernel);
      ASSERT_TRUE(attach(before, for_guest())->ok());
    }
    StorageFault fault{.at = at, .kind = StorageFault::Kind::killed, .error_number = 0};
    if (then == Then::goes_on) fault = {at, StorageFault::Kind::once, ENOSPC};
    FailingStorage storage(kernel, fault);
    auto hands = kernel.hands(storage);
    if (detaching)
      static_cast<void>(detach(hands, "guest-1", {}));
    else
      static_cast<void>(attach(hands, for_guest()));
    const std::string where = "call " + std::to_string(at) + ": ";
    auto after = kernel.hands(kernel);
    if (then == Then::power_cut_names_all) restart_and_hold(kernel, after);
    if (then == Then::power_cut_names_synced) kernel.restart(MemoryStorage::Names::synced);
    // A process that died leaves services as they are: recover starts them.
    recover_to_whole(kernel, where);
    if (::testing::Test::HasFatalFailure()) return;
    if (storage.calls() < at) {
      EXPECT_GT(at, 15u);
      return;
    }
  }
}

TEST(VmOperationsWalk, AttachWhenAWriteFails) { walk(false, Then::goes_on); }
TEST(VmOperationsWalk, AttachWhenItDies) { walk(false, Then::process_dies); }
TEST(VmOperationsWalk, AttachWhenThePowerGoes) { walk(false, Then::power_cut_names_all); }
TEST(VmOperationsWalk, AttachWhenThePowerGoesAndNamesAreLost) {
  walk(false, Then::power_cut_names_synced);
}
TEST(VmOperationsWalk, DetachWhenAWriteFails) { walk(true, Then::goes_on); }
TEST(VmOperationsWalk, DetachWhenItDies) { walk(true, Then::process_dies); }
TEST(VmOperationsWalk, DetachOfASharedBusWhenItDies) {
  walk(true, Then::process_dies, share_bus_reset);
}
// A host without a driver for the GPU.
void test_in_guests(FakeKernel& kernel) {
  kernel.clean_with = "/bundle";
  auto& gpu = kernel.devices[kGpuText];
  gpu.native = gpu.bound = "";
}
TEST(VmOperationsWalk, DetachWithAGuestsTestWhenAWriteFails) {
  walk(true, Then::goes_on, test_in_guests);
}
TEST(VmOperationsWalk, DetachWithAGuestsTestWhenItDies) {
  walk(true, Then::process_dies, test_in_guests);
}
TEST(VmOperationsWalk, DetachWithAGuestsTestWhenThePowerGoes) {
  walk(true, Then::power_cut_names_all, test_in_guests);
}
TEST(VmOperationsWalk, DetachWithAGuestsTestWhenThePowerGoesAndNamesAreLost) {
  walk(true, Then::power_cut_names_synced, test_in_guests);
}
TEST(VmOperationsWalk, DetachWhenThePowerGoes) { walk(true, Then::power_cut_names_all); }
TEST(VmOperationsWalk, DetachWhenThePowerGoesAndNamesAreLost) {
  walk(true, Then::power_cut_names_synced);
}

}  // namespace
}  // namespace gpuready::vm
