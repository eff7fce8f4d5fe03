#include "vm/report/devices_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "base/units.h"
#include "machine/pci/pci_addresses.h"
#include "machine/pci/pci_ids.h"
#include "report/summary.h"
#include "report/terminal/terminal_text.h"
#include "vm/fields.h"
#include "vm/plan.h"

namespace gpuready {
std::vector<const vm::Device*> shown(const VmDevices& devices) {
  std::vector<const vm::Device*> out;
  for (const auto& address : devices.shown)
    if (const auto* device = devices.inventory.find(address)) out.push_back(device);
  return out;
}

std::vector<const vm::MediatedDevice*> shown_instances(const VmDevices& devices) {
  std::vector<const vm::MediatedDevice*> out;
  for (const auto& uuid : devices.instances)
    if (const auto* instance = devices.inventory.find_instance(uuid)) out.push_back(instance);
  return out;
}

namespace {

using vm::Device;
using vm::Readiness;

Ink ink_of(const vm::Surroundings& around) {
  switch (around.readiness) {
    case Readiness::ready:
      return Ink::good;
    case Readiness::in_use:
      return Ink::plain;
    case Readiness::needs:
      return Ink::warn;
    case Readiness::never:
      return Ink::dim;
  }
  return Ink::plain;
}

std::string name_of(const Device& device) {
  const auto& function = device.function;
  return display_name(function.vendor_id, function.device_id, function.name);
}

std::string mmio_text(const Device& device) {
  const auto bytes = vm::mmio_bytes(device.function.bars);
  return bytes == 0 ? "-" : format_bytes(bytes);
}

std::string text_of(const std::optional<int>& number) {
  return number ? std::to_string(*number) : "-";
}

void show_table(const VmDevices& devices, TerminalText& out) {
  Table table;
  table.columns = {{"Device"},
                   {"Name", Align::left, true},
                   {"Driver"},
                   {"Group", Align::right, false, 2},
                   {"NUMA", Align::right, false, 3},
                   {"MMIO", Align::right, false, 1},
                   {"State"}};
  for (const auto* device : shown(devices))
    table.rows.push_back({{device->function.address.text()},
                          {name_of(*device)},
                          {device->function.driver.value_or("-")},
                          {text_of(device->function.iommu_group)},
                          {text_of(device->function.numa_node)},
                          {mmio_text(*device)},
                          {words_of(device->around.readiness), ink_of(device->around)}});
  out.table(0, table);
  out.blank();
  // Most devices of a machine lack the same.
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const auto* device : shown(devices))
    if (!device->around.reason.empty())
      by_reason[device->around.reason].push_back(device->function.address.text());
  for (const auto& [reason, addresses] : by_reason)
    out.paragraph(0,
                  {addresses.size() == 1 ? addresses.front() + " "
                                         : fmt::format("{} devices: ", addresses.size())},
                  reason);
}

void show_instances(const VmDevices& devices, TerminalText& out) {
  const auto all = shown_instances(devices);
  if (all.empty()) return;
  Table table;
  table.columns = {{"vGPU"}, {"Kind", Align::left, true}, {"Of"}, {"State"}};
  for (const auto* instance : all)
    table.rows.push_back({{instance->uuid},
                          {instance->name.value_or(instance->type)},
                          {instance->parent},
                          {words_of(instance->around.readiness), ink_of(instance->around)}});
  out.blank();
  out.table(0, table);
  out.blank();
  for (const auto* instance : all)
    if (!instance->around.reason.empty())
      out.paragraph(0, {instance->uuid + " "}, instance->around.reason);
}

void show_fact(TerminalText& out, std::string_view name, const std::string& text) {
  if (!text.empty()) out.paragraph(2, {fmt::format("{:<16}", name), Ink::dim}, text);
}

void show_device(const Device& device, const vm::Inventory& inventory, TerminalText& out) {
  const auto& function = device.function;
  const auto& around = device.around;
  out.line(0, {{function.address.text() + "  ", Ink::bold}, {name_of(device)}});
  out.paragraph(2, {fmt::format("{:<16}", "State"), Ink::dim},
                around.reason.empty() ? words_of(around.readiness)
                : around.readiness == Readiness::needs
                    ? around.reason
                    : fmt::format("{}: {}", words_of(around.readiness), around.reason),
                ink_of(around));
  if (around.cure) show_fact(out, "Cure", *around.cure);
  show_fact(out, "Ids",
            fmt::format("{:04x}:{:04x}, class {:06x}", function.vendor_id, function.device_id,
                        function.class_code));
  show_fact(out, "Driver", function.driver.value_or("none"));
  show_fact(out, "IOMMU group", text_of(function.iommu_group));
  show_fact(out, "Moves with",
            around.moves_together.size() > 1 ? joined(around.moves_together) : std::string());
  const auto resets = vm::best_resets(function, inventory, around.moves_together);
  show_fact(out, "Reset",
            resets == vm::kHotReset          ? "through VFIO, with all functions on its bus"
            : !resets.empty()                ? resets
            : function.reset_methods.empty() ? "none that the kernel knows"
                                             : "none without resetting others on its bus");
  for (const auto& bar : function.bars)
    show_fact(out, fmt::format("BAR {}", bar.index),
              fmt::format("{}{}{}{}", format_bytes(bar.bytes), bar.wide ? ", 64 bits" : "",
                          bar.prefetchable ? ", prefetchable" : "",
                          bar.assigned ? "" : ", no address was found for it"));
  show_fact(out, "MMIO", mmio_text(device));
  show_fact(out, "Link", link_text(function.link_now, function.link_max).value_or(""));
  show_fact(out, "NUMA node", text_of(function.numa_node));
  show_fact(out, "Power", function.runtime_status.value_or(""));
  if (function.vf_total.value_or(0) > 0)
    show_fact(out, "SR-IOV",
              fmt::format("{} of {} virtual functions exist", function.vf_count.value_or(0),
                          *function.vf_total));
  for (const auto& type : function.mdev_types)
    show_fact(out, "vGPU",
              fmt::format("{} ({}): {} more can be made, {} exist", type.name.value_or(type.id),
                          type.id, text_of(type.available), type.instances.size()));
  if (function.vgpu_type)
    show_fact(out, "vGPU type", function.is_vgpu() ? *function.vgpu_type : "none");
  for (const auto& type : function.vgpu_types)
    show_fact(out, "It can become",
              type.name ? fmt::format("{} ({})", type.id, *type.name) : type.id);
  show_fact(out, "Nodes", join(around.nodes, " "));
  for (const auto& use : around.uses)
    show_fact(out, "Used", use.what + (use.ends_with_plan ? " (vm attach ends it)" : ""));
  out.blank();
}

}  // namespace

std::string conclusion(const VmDevices& devices) {
  const auto all = shown(devices);
  const auto instances = shown_instances(devices);
  const auto is_ready = [](const auto* one) { return one->around.readiness == Readiness::ready; };
  const auto ready =
      std::ranges::count_if(all, is_ready) + std::ranges::count_if(instances, is_ready);
  if (all.empty() && instances.empty() && devices.inventory.bus_unread)
    return fmt::format("Cannot tell whether a device is here: {}.", *devices.inventory.bus_unread);
  if (all.empty() && instances.empty())
    return "This machine has no device that can be given to a virtual machine.";
  return fmt::format("{} of {} can be given to a virtual machine.", ready,
                     counted(all.size() + instances.size(), "device"));
}

std::string render_terminal(const VmDevices& devices, const TerminalStyle& style) {
  TerminalText out(style);
  for (const auto& unseen : devices.inventory.unseen) out.paragraph(0, {"not seen: "}, unseen);
  if (style.quiet) return out.take();
  out.blank();
  if (devices.in_full)
    for (const auto* device : shown(devices)) show_device(*device, devices.inventory, out);
  else if (!devices.shown.empty())
    show_table(devices, out);
  show_instances(devices, out);
  out.paragraph(0, {""}, conclusion(devices));
  return out.take();
}

}  // namespace gpuready
