// Parts of a GPU that virtual machines are given: mediated devices, virtual functions, vGPUs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "doubles/failing_storage.h"
#include "unit/products/vm/fake_kernel.h"
#include "vm/actions.h"
#include "vm/guest_args.h"
#include "vm/operations.h"

namespace gpuready::vm {
namespace {

constexpr char kGpuText[] = "0000:17:00.0", kFunctionText[] = "0000:17:00.4";
constexpr char kUuid[] = "aa618089-8b16-4d01-a136-25a0f3c73123";
const PciAddress kFunction = *parse_pci_address(kFunctionText);
const std::string kTypeFile = "/sys/bus/pci/devices/0000:17:00.4/nvidia/current_vgpu_type";

void add_function(FakeKernel& kernel, const std::string& vgpu_type) {
  kernel.add(kGpuText, {});
  kernel.add(kFunctionText, {.group = 9});
  kernel.devices[kFunctionText].physical_function = kGpuText;
  if (vgpu_type.empty()) return;
  kernel.files[kTypeFile] = vgpu_type + "\n";
  kernel.files["/sys/bus/pci/devices/0000:17:00.4/nvidia/creatable_vgpu_types"] =
      "ID    : vGPU Name\n557   : NVIDIA A40-1Q\n558   : NVIDIA A40-2Q\n";
}

void add_mediated(FakeKernel& kernel) {
  kernel.add(kGpuText, {});
  kernel.mediated[kUuid] = kGpuText;
}

template <class Done>
std::string trouble(const Done& done) {
  if (!done) return done.error().message;
  std::string text = join(done->plan.refusals, "; ");
  if (done->outcome.error) text += done->outcome.failed + ": " + done->outcome.error->message;
  return text;
}

TEST(VmVgpu, TypesOfAVirtualFunction) {
  const auto types = parse_vgpu_types("ID : vGPU Name\n558 : NVIDIA A40-2Q\n559 :\nx\n\n: y\n");
  ASSERT_EQ(types.size(), 2u);
  EXPECT_EQ(types[0].id, "558");
  EXPECT_EQ(types[0].name, "NVIDIA A40-2Q");
  EXPECT_FALSE(types[1].name);
}

TEST(VmVgpu, ThePlanSaysOfWhichTypeAVgpuIs) {
  for (const auto& [type, what] : {std::pair{"558", "558 (NVIDIA A40-2Q)"}, {"559", "559"}}) {
    PciFunction function;
    function.address = kFunction;
    function.vgpu_type = type;
    function.vgpu_types = {{"557", "NVIDIA A40-1Q"}, {"558", "NVIDIA A40-2Q"}, {"559", {}}};
    const auto step = vgpu_step(function);
    EXPECT_EQ(step.what, std::string("See that 0000:17:00.4 is a vGPU of type ") + what);
    EXPECT_EQ(describe(step.act), std::string("write ") + type + " into " + kTypeFile);
    EXPECT_EQ(step.act.device, kFunction);
    EXPECT_FALSE(step.undo);
  }
}

TEST(VmVgpu, AVgpuKeepsItsDriverAndIsMadeAnewWhenItComesBack) {
  FakeKernel kernel;
  add_function(kernel, "558");
  auto hands = kernel.hands(kernel);
  const auto attached = attach(hands, {.name = "guest", .devices = {kFunction}});
  ASSERT_TRUE(attached && attached->ok()) << trouble(attached);
  EXPECT_EQ(kernel.devices[kFunctionText].bound, "nvidia");
  EXPECT_EQ(kernel.devices[kFunctionText].resets, 0);
  for (const auto& command : kernel.commands) EXPECT_FALSE(command.starts_with("nvidia-smi"));

  const auto detached = detach(hands, "guest", {});
  ASSERT_TRUE(detached);
  ASSERT_TRUE(detached->front().ok());
  EXPECT_EQ(kernel.files[kTypeFile], "558\n");
  const auto& done = detached->front().outcome.done;
  EXPECT_NE(std::ranges::find(done, "End the vGPU of 0000:17:00.4"), done.end());
  EXPECT_EQ(kernel.disk.names("/state"), std::vector<std::string>{"/state/lock"});
}

// "0" ends it, and one write of the type makes it again: that of the step that is taken back.
TEST(VmVgpu, ADetachThatIsTakenBackMakesTheVgpuOnce) {
  FakeKernel kernel;
  add_function(kernel, "558");
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, {.name = "guest", .devices = {kFunction}})->ok());
  const auto detached = detach(hands, "guest", {});
  ASSERT_TRUE(detached && detached->front().ok());
  std::vector<std::string> written, undone;
  for (const auto& step : detached->front().plan.steps) {
    if (step.act.path != kTypeFile) continue;
    written.push_back(step.act.value);
    if (step.undo) undone.push_back(step.undo->value);
  }
  EXPECT_EQ(written, (std::vector<std::string>{"0", "558"}));
  EXPECT_EQ(undone, std::vector<std::string>{"558"});
}

TEST(VmVgpu, AVirtualFunctionWithoutATypeNeedsOne) {
  FakeKernel kernel;
  add_function(kernel, "0");
  auto hands = kernel.hands(kernel);
  const auto attached = attach(hands, {.name = "guest", .devices = {kFunction}});
  ASSERT_TRUE(attached);
  EXPECT_EQ(join(attached->plan.refusals, ""),
            "0000:17:00.4: needs a vGPU type: the virtual function has none. Write the id of one "
            "into " +
                kTypeFile + "; it can have 557 (NVIDIA A40-1Q), 558 (NVIDIA A40-2Q).");
}

TEST(VmVgpu, AnyOtherVirtualFunctionIsBoundToVfio) {
  FakeKernel kernel;
  add_function(kernel, "");
  auto hands = kernel.hands(kernel);
  const auto attached = attach(hands, {.name = "guest", .devices = {kFunction}});
  ASSERT_TRUE(attached && attached->ok()) << trouble(attached);
  EXPECT_EQ(kernel.devices[kFunctionText].bound, "vfio-pci");
  EXPECT_EQ(kernel.devices[kGpuText].bound, "nvidia");  // the physical one stays
  const auto state = read_state(kernel, "/state");
  const PciAddress gpu = *parse_pci_address(kGpuText);
  for (const auto& address : {gpu, kFunction}) {
    const auto& around = state->inventory.find(address)->around;
    EXPECT_EQ(around.moves_together, std::vector<PciAddress>{address}) << address.text();
    EXPECT_EQ(around.group, std::vector<PciAddress>{address}) << address.text();
  }
  const auto of_none = detach(hands, {}, {gpu});
  ASSERT_FALSE(of_none);
  EXPECT_EQ(of_none.error().kind, ErrorKind::not_found);
  EXPECT_EQ(kernel.devices[kFunctionText].bound, "vfio-pci");
  const auto detached = detach(hands, {}, {kFunction});
  ASSERT_TRUE(detached && detached->front().ok());
  EXPECT_EQ(kernel.devices[kFunctionText].bound, "nvidia");
}

TEST(VmVgpu, AMediatedDeviceIsAttachedAndMadeAnew) {
  FakeKernel kernel;
  add_mediated(kernel);
  auto hands = kernel.hands(kernel);
  const auto attached = attach(hands, {.name = "guest", .devices = {}, .instances = {kUuid}});
  ASSERT_TRUE(attached && attached->ok()) << trouble(attached);
  const auto state = read_state(kernel, "/state");
  ASSERT_TRUE(state);
  ASSERT_EQ(state->inventory.instances.size(), 1u);
  const auto& instance = state->inventory.instances.front();
  EXPECT_EQ(instance.parent, kGpuText);
  EXPECT_EQ(instance.type, "nvidia-63");
  EXPECT_EQ(instance.iommu_group, 77);
  EXPECT_EQ(instance.around.attached_to, "guest");
  const auto twice = attach(hands, {.name = "other", .devices = {}, .instances = {kUuid}});
  ASSERT_TRUE(twice);
  EXPECT_FALSE(twice->plan.refusals.empty());

  // While a guest has it, it is not given back.
  kernel.open["42"] = {"/dev/vfio/77"};
  const auto refused = detach(hands, "guest", {});
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->front().outcome.error.value_or(Error{}).message,
            std::string(kUuid) + ": process 42 holds /dev/vfio/77 open");
  EXPECT_EQ(kernel.mediated_made, 0);
  kernel.open.clear();
  const auto detached = detach(hands, {}, {}, {kUuid});
  ASSERT_TRUE(detached && detached->front().ok());
  EXPECT_EQ(kernel.mediated_made, 1);
  EXPECT_TRUE(kernel.mediated.contains(kUuid));
  EXPECT_EQ(kernel.disk.names("/state"), std::vector<std::string>{"/state/lock"});
}

TEST(VmVgpu, OneThatDoesNotExistOrIsUsedIsRefused) {
  FakeKernel kernel;
  add_mediated(kernel);
  auto hands = kernel.hands(kernel);
  const std::string other = "00000000-0000-0000-0000-000000000000";
  const auto absent = attach(hands, {.name = "guest", .devices = {}, .instances = {other}});
  ASSERT_TRUE(absent);
  EXPECT_EQ(join(absent->plan.refusals, ""),
            other +
                " is not a mediated device of this machine; `gpuready vm list` lists them, and the "
                "GPU's driver makes them");
  kernel.open["42"] = {"/dev/vfio/77"};
  const auto used = attach(hands, {.name = "guest", .devices = {}, .instances = {kUuid}});
  ASSERT_TRUE(used);
  EXPECT_EQ(join(used->plan.refusals, ""),
            std::string(kUuid) + ": process 42 holds /dev/vfio/77 open");
}

TEST(VmVgpu, AGpuOfWhichAPartExistsIsNotGivenAway) {
  FakeKernel kernel;
  add_mediated(kernel);
  kernel.files[FakeKernel::kBus + "devices/" + kGpuText +
               "/mdev_supported_types/nvidia-63/devices/" + kUuid + "/uevent"] = "";
  auto hands = kernel.hands(kernel);
  const auto attached = attach(hands, {.name = "guest", .devices = {*parse_pci_address(kGpuText)}});
  ASSERT_TRUE(attached);
  EXPECT_EQ(join(attached->plan.refusals, ""),
            fmt::format("{}: mediated device {} (nvidia-63) exists", kGpuText, kUuid));
  EXPECT_EQ(kernel.devices[kGpuText].bound, "nvidia");
}

// Adds a mediated device or a virtual function, and asks for it.
AttachRequest request_for_new(FakeKernel& kernel, bool mediated) {
  if (mediated) {
    add_mediated(kernel);
    return {.name = "guest", .devices = {}, .instances = {kUuid}};
  }
  add_function(kernel, "558");
  return {.name = "guest", .devices = {kFunction}};
}

TEST(VmVgpu, ARestartEndsTheirClaims) {
  for (const bool mediated : {true, false}) {
    FakeKernel kernel;
    const auto request = request_for_new(kernel, mediated);
    auto hands = kernel.hands(kernel);
    const auto attached = attach(hands, request);
    ASSERT_TRUE(attached && attached->ok()) << trouble(attached);
    kernel.restart(MemoryStorage::Names::synced);
    const auto recovered = recover(hands, {});
    ASSERT_TRUE(recovered) << recovered.error().message;
    ASSERT_EQ(recovered->size(), 1u);
    EXPECT_TRUE(recovered->front().ok())
        << recovered->front().outcome.error.value_or(Error{}).message;
    EXPECT_EQ(kernel.disk.names("/state"), std::vector<std::string>{"/state/lock"});
  }
}

TEST(VmVgpu, EveryWriteOfADetachMayFailAndRecoverEndsIt) {
  for (const bool mediated : {true, false})
    for (std::size_t at = 1; at < 30; ++at) {
      SCOPED_TRACE(at);
      FakeKernel kernel;
      const auto request = request_for_new(kernel, mediated);
      auto hands = kernel.hands(kernel);
      ASSERT_TRUE(attach(hands, request));
      FailingStorage failing(kernel, {at, StorageFault::Kind::killed, 0});
      auto broken = kernel.hands(failing);
      static_cast<void>(detach(broken, "guest", {}));
      auto again = kernel.hands(kernel);
      ASSERT_TRUE(recover(again, {}));
      static_cast<void>(detach(again, "guest", {}));
      const auto state = read_state(kernel, "/state");
      ASSERT_TRUE(state);
      EXPECT_TRUE(state->claims.empty());
      if (mediated)
        EXPECT_TRUE(kernel.mediated.contains(kUuid));
      else
        EXPECT_EQ(kernel.files[kTypeFile], "558\n");
    }
}

TEST(VmVgpu, HypervisorsAreToldOfThem) {
  MediatedDevice instance;
  instance.uuid = kUuid;
  Device first, second;
  first.function.address = kFunction;
  first.function.physical_function = *parse_pci_address(kGpuText);
  second = first;
  second.function.address = *parse_pci_address("0000:17:00.5");
  const auto qemu = guest_args(Hypervisor::qemu, {&first, &second}, false, {&instance});
  EXPECT_EQ(join(qemu.arguments, " "),
            "-device pcie-root-port,id=gpuready1,chassis=1,slot=1 "
            "-device vfio-pci,host=0000:17:00.4,bus=gpuready1,addr=00.0 "
            "-device pcie-root-port,id=gpuready2,chassis=2,slot=2 "
            "-device vfio-pci,host=0000:17:00.5,bus=gpuready2,addr=00.0 "
            "-device pcie-root-port,id=gpuready3,chassis=3,slot=3 "
            "-device vfio-pci,sysfsdev=/sys/bus/mdev/devices/" +
                std::string(kUuid) + ",bus=gpuready3,addr=00.0");
  const auto xml = guest_args(Hypervisor::libvirt, {}, false, {&instance}).xml;
  EXPECT_NE(xml.find("type='mdev'"), xml.npos);
  EXPECT_NE(xml.find("model='vfio-pci'"), xml.npos);
  EXPECT_NE(xml.find("<address uuid='" + std::string(kUuid) + "'/>"), xml.npos);
  const auto cloud = guest_args(Hypervisor::cloud_hypervisor, {}, false, {&instance});
  EXPECT_EQ(cloud.arguments.at(1), "path=/sys/bus/mdev/devices/" + std::string(kUuid) + "/");
}

// Journals of before identities were kept have only the addresses of virtual functions.
TEST(VmVgpu, ARestartEndsTheClaimOfAnAddressOnly) {
  FakeKernel kernel;
  add_function(kernel, "558");
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, {.name = "guest", .devices = {kFunction}})->ok());
  const std::string journal = "/state/000001.1.attach.jsonl";
  auto text = *kernel.disk.content(journal);
  const auto at = text.find(",\"identities\":[");
  ASSERT_NE(at, text.npos);
  text.erase(at, text.find(']', at) + 1 - at);
  ASSERT_TRUE(kernel.disk.unlink(journal));
  {
    const auto file = *kernel.disk.create(journal, 0600);
    ASSERT_TRUE(file->write(text) && file->sync() && kernel.disk.sync_folder("/state"));
  }
  kernel.restart(MemoryStorage::Names::synced);
  const auto recovered = recover(hands, {});
  ASSERT_TRUE(recovered) << recovered.error().message;
  ASSERT_EQ(recovered->size(), 1u);
  EXPECT_TRUE(recovered->front().ok())
      << recovered->front().outcome.error.value_or(Error{}).message;
  EXPECT_EQ(kernel.disk.names("/state"), std::vector<std::string>{"/state/lock"});
}

}  // namespace
}  // namespace gpuready::vm
