#include "vm/guest_args.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/units.h"
#include "value/vendors.h"
#include "vm/mediated.h"

namespace gpuready::vm {
namespace {

using Slot = std::vector<const Device*>;  // functions of one slot, by number

std::vector<Slot> slots_of(const std::vector<const Device*>& devices) {
  std::vector<Slot> slots;
  const auto key = [](const Device* device) {
    auto address = device->function.address;
    address.function = 0;
    return address;
  };
  for (const auto* device : devices) {
    const auto same = std::ranges::find_if(slots, [&](const Slot& slot) {
      return key(slot.front()) == key(device) && !device->function.physical_function &&
             !slot.front()->function.physical_function;
    });
    if (same == slots.end())
      slots.push_back({device});
    else
      same->push_back(device);
  }
  for (auto& slot : slots)
    std::ranges::sort(slot, {}, [](const Device* d) { return d->function.address; });
  return slots;
}

bool is_nvidia_gpu(const Device& device) {
  return device.function.vendor_id == pci_vendor::kNvidia && has_memory(device.function);
}

using Node = std::optional<int>;  // of NUMA; none on machines that have one alone

std::vector<Node> nodes_of_gpus(const std::vector<const Device*>& all) {
  std::vector<Node> nodes;  // in the order in which they are met
  for (const auto* device : all)
    if (is_nvidia_gpu(*device) &&
        std::ranges::find(nodes, device->function.numa_node) == nodes.end())
      nodes.push_back(device->function.numa_node);
  return nodes;
}

// The hypervisor declares that GPUs of one clique reach each other directly; only for
// several, and only NVIDIA's driver reads it. Between processors that is slow, or does not work: a
// clique is of one NUMA node.
std::optional<std::size_t> clique_of(const Device& device, const std::vector<const Device*>& all) {
  constexpr std::size_t kMost = 15;  // four bits
  const auto beside = [&](const Device* other) {
    return is_nvidia_gpu(*other) && other->function.numa_node == device.function.numa_node;
  };
  if (!is_nvidia_gpu(device) || std::ranges::count_if(all, beside) < 2) return std::nullopt;
  const auto nodes = nodes_of_gpus(all);
  const auto clique =
      static_cast<std::size_t>(std::ranges::find(nodes, device.function.numa_node) - nodes.begin());
  return clique > kMost ? std::nullopt : std::optional(clique);
}

using Instances = std::vector<const MediatedDevice*>;

void add_qemu(const std::vector<const Device*>& devices, const Instances& instances,
              GuestArgs& out) {
  std::size_t port = 0;
  const auto add_device = [&](std::string text) {
    out.arguments.push_back("-device");
    out.arguments.push_back(std::move(text));
  };
  for (const auto& slot : guest_slots(devices, instances)) {
    ++port;
    add_device(fmt::format("pcie-root-port,id=gpuready{0},chassis={0},slot={0}", port));
    for (std::size_t number = 0; number < slot.size(); ++number) {
      const auto& function = slot[number];
      std::string text = fmt::format("{},{}={},bus=gpuready{},addr=00.{}", function.driver,
                                     function.property, function.value, port, number);
      if (number == 0 && slot.size() > 1) text += ",multifunction=on";
      if (function.clique) text += fmt::format(",x-nv-gpudirect-clique={}", *function.clique);
      add_device(std::move(text));
    }
  }
  if (const auto window = window_mib(devices); window > 0) {
    out.arguments.push_back("-fw_cfg");
    out.arguments.push_back(fmt::format("name=opt/ovmf/X-PciMmio64Mb,string={}", window));
  }
}

std::string xml_address(const PciAddress& address) {
  return fmt::format(
      "<address domain='0x{:04x}' bus='0x{:02x}' slot='0x{:02x}' function='0x{:x}'/>",
      address.domain, address.bus, address.device, address.function);
}

void add_libvirt(const std::vector<const Device*>& devices, const Instances& instances,
                 bool managed, GuestArgs& out) {
  for (const auto& slot : slots_of(devices))
    for (const auto* device : slot)
      out.xml += fmt::format(
          "<hostdev mode='subsystem' type='pci' managed='{}'>\n  <source>\n    {}\n  "
          "</source>\n</hostdev>\n",
          managed && !device->function.is_vgpu() ? "yes" : "no",
          xml_address(device->function.address));
  for (const auto* instance : instances)
    out.xml += fmt::format(
        "<hostdev mode='subsystem' type='mdev' managed='no' model='vfio-pci'>\n  <source>\n    "
        "<address uuid='{}'/>\n  </source>\n</hostdev>\n",
        instance->uuid);
}

void add_cloud_hypervisor(const std::vector<const Device*>& devices, const Instances& instances,
                          GuestArgs& out) {
  if (devices.empty() && instances.empty()) return;
  out.arguments.push_back("--device");
  for (const auto* device : devices) {
    std::string text = fmt::format("path={}/", folder_of(device->function.address));
    if (const auto clique = clique_of(*device, devices))
      text += fmt::format(",x_nv_gpudirect_clique={}", *clique);
    out.arguments.push_back(std::move(text));
  }
  for (const auto* instance : instances)
    out.arguments.push_back(fmt::format("path={}{}/", kMediatedDevices, instance->uuid));
  out.notes.push_back("unproven: no test of gpuready's starts cloud-hypervisor");
}

}  // namespace

std::uint64_t window_mib(const std::vector<const Device*>& devices) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 52;
  std::uint64_t sum = 0;
  for (const auto& slot : slots_of(devices)) {
    std::uint64_t bytes = 0;
    for (const auto* device : slot)
      for (const auto& bar : device->function.bars)
        if (bar.wide) bytes = std::min(kMost, bytes + std::min(kMost, bar.bytes));
    if (bytes > 0) sum = std::min(kMost, sum + std::bit_ceil(bytes));
  }
  return sum == 0 ? 0 : std::bit_ceil(2 * sum) / MiB;
}

std::vector<GuestSlot> guest_slots(const std::vector<const Device*>& devices,
                                   const std::vector<const MediatedDevice*>& instances) {
  std::vector<GuestSlot> slots;
  for (const auto& slot : slots_of(devices)) {
    slots.emplace_back();
    for (const auto* device : slot)
      slots.back().push_back({.property = "host",
                              .value = device->function.address.text(),
                              .clique = clique_of(*device, devices)});
  }
  for (const auto* instance : instances)
    slots.push_back({{.property = "sysfsdev", .value = kMediatedDevices + instance->uuid}});
  return slots;
}

GuestArgs guest_args(Hypervisor hypervisor, const std::vector<const Device*>& devices, bool managed,
                     const std::vector<const MediatedDevice*>& instances) {
  GuestArgs out;
  switch (hypervisor) {
    case Hypervisor::qemu:
      add_qemu(devices, instances, out);
      break;
    case Hypervisor::libvirt:
      add_libvirt(devices, instances, managed, out);
      break;
    case Hypervisor::cloud_hypervisor:
      add_cloud_hypervisor(devices, instances, out);
      break;
  }
  if (hypervisor != Hypervisor::libvirt && nodes_of_gpus(devices).size() > 1)
    out.notes.push_back(
        "the NVIDIA GPUs are on several NUMA nodes: no GPUDirect clique joins those of different "
        "ones, so between them data goes through the guest's memory");
  for (const auto* device : devices)
    if (const auto node = device->function.numa_node)
      out.notes.push_back(
          fmt::format("{} is on NUMA node {}: pin the guest's processors and "
                      "memory there",
                      device->function.address.text(), *node));
  return out;
}

}  // namespace gpuready::vm
