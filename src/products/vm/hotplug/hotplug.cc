#include "vm/hotplug/hotplug.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "machine/pci/pci_files.h"
#include "vm/hotplug/qmp.h"

namespace gpuready::vm {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAnswer{10'000};  // QEMU itself answers at once; opening a GPU takes seconds
constexpr std::string_view kContainers[] = {"/machine/peripheral", "/machine/peripheral-anon"};
constexpr std::string_view kPorts[] = {"pcie-root-port", "xio3130-downstream"};

// A device in QEMU's object tree, where it keeps those of -device and device_add.
struct Peripheral {
  std::string path, id, type;
  std::string bus = {};  // path of the bus that it is on
};

std::optional<std::string> text_property(Qmp& qmp, const std::string& path, std::string_view name) {
  const auto value =
      qmp.execute("qom-get", {{"path", path}, {"property", name}}, deadline_in(kAnswer));
  return value && value->is_string() ? std::optional(value->get<std::string>()) : std::nullopt;
}

Result<std::vector<Peripheral>> peripherals(Qmp& qmp) {
  constexpr std::string_view kChild = "child<";
  std::vector<Peripheral> all;
  for (const auto folder : kContainers) {
    const auto list = TRY(qmp.execute("qom-list", {{"path", folder}}, deadline_in(kAnswer)));
    for (const auto& entry : list) {
      const auto id = get_string(entry, "name"), type = get_string(entry, "type");
      if (!id || !type || !type->starts_with(kChild)) continue;
      all.push_back({.path = fmt::format("{}/{}", folder, *id),
                     .id = *id,
                     .type = type->substr(kChild.size(), type->size() - kChild.size() - 1)});
      all.back().bus = text_property(qmp, all.back().path, "parent_bus").value_or("");
    }
  }
  return all;
}

std::vector<std::string> empty_ports(const std::vector<Peripheral>& all) {
  std::vector<std::string> ports;
  for (const auto& port : all) {
    const auto is_in_it = [&](const Peripheral& p) { return p.bus.starts_with(port.path + "/"); };
    if (std::ranges::find(kPorts, port.type) != std::end(kPorts) &&
        std::ranges::none_of(all, is_in_it))
      ports.push_back(port.id);
  }
  std::ranges::sort(ports);
  return ports;
}

// Paths of the functions of a slot; empty for those that QEMU does not have.
std::vector<std::string> paths_of(Qmp& qmp, const std::vector<Peripheral>& all,
                                  const GuestSlot& slot) {
  std::vector<std::string> paths;
  for (const auto& function : slot) {
    const auto same = std::ranges::find_if(all, [&](const Peripheral& p) {
      return p.type == function.driver &&
             text_property(qmp, p.path, function.property) == function.value;
    });
    paths.push_back(same == all.end() ? "" : same->path);
  }
  return paths;
}

Result<void> add_slot(Qmp& qmp, const GuestSlot& slot, const std::string& port) {
  // QEMU announces a slot to the guest with its function 0.
  for (std::size_t number = slot.size(); number-- > 0;) {
    const auto& function = slot[number];
    std::string id = "gpuready-" + function.value;
    std::ranges::replace(id, ':', '.');
    Json arguments = {{"driver", function.driver},
                      {"id", id},
                      {function.property, function.value},
                      {"bus", port},
                      {"addr", fmt::format("00.{}", number)}};
    if (number == 0 && slot.size() > 1) arguments["multifunction"] = true;
    if (function.clique) arguments["x-nv-gpudirect-clique"] = *function.clique;
    TRY(qmp.execute("device_add", arguments, deadline_in(kAnswer)));
  }
  return {};
}

// One request removes all functions of a slot; without function 0 the guest does not know of the
// others, and each needs its own.
Result<void> request_removal(Qmp& qmp, const std::vector<std::string>& paths) {
  for (const auto& path : paths) {
    if (path.empty()) continue;
    const auto asked = qmp.execute("device_del", {{"id", path}}, deadline_in(kAnswer));
    if (!asked && !contains(asked.error().message, "already in the process of unplug"))
      return std::unexpected(asked.error());
    if (!paths.front().empty()) break;
  }
  return {};
}

Result<void> wait_for_removal(Qmp& qmp, std::set<std::string> paths, milliseconds timeout) {
  const auto deadline = deadline_in(timeout);
  while (!paths.empty()) {
    const auto event = qmp.next_event(deadline);
    if (!event && event.error().kind != ErrorKind::timed_out) return std::unexpected(event.error());
    if (!event)
      return fail(ErrorKind::timed_out,
                  fmt::format("the guest did not release {} of the devices within {} s. Is it "
                              "running, and does a program in it use the GPU? The request stays "
                              "pending; gpuready vm unplug waits again",
                              paths.size(), timeout.count() / 1000));
    const auto name = get_string(*event, "event").value_or("");
    const auto path = get_string(member(*event, "data"), "path").value_or("");
    if (!paths.contains(path)) continue;
    if (name == "DEVICE_DELETED") paths.erase(path);
    if (name == "DEVICE_UNPLUG_GUEST_ERROR")
      return fail(ErrorKind::device,
                  fmt::format("the guest refused to release {}", printable(last_component(path))));
  }
  return {};
}

Result<void> remove_slots(Qmp& qmp, const std::vector<std::vector<std::string>>& slots,
                          milliseconds timeout) {
  std::set<std::string> paths;
  for (const auto& slot : slots) {
    TRY(request_removal(qmp, slot));
    for (const auto& path : slot)
      if (!path.empty()) paths.insert(path);
  }
  return wait_for_removal(qmp, std::move(paths), timeout);
}

}  // namespace

Result<std::vector<HotPlugged>> plug(const std::string& socket, const std::vector<GuestSlot>& slots,
                                     milliseconds timeout) {
  auto qmp = TRY(Qmp::open(socket, deadline_in(kAnswer)));
  auto all = TRY(peripherals(qmp));
  std::vector<HotPlugged> done;
  std::vector<const GuestSlot*> wanted;
  std::vector<std::vector<std::string>> parts;  // slots without function 0
  for (const auto& slot : slots) {
    const auto paths = paths_of(qmp, all, slot);
    const bool is_there = !paths.front().empty();
    for (const auto& function : slot)
      done.push_back({function.value, is_there ? PlugState::already_plugged : PlugState::plugged});
    if (is_there) continue;
    wanted.push_back(&slot);
    parts.push_back(paths);
  }
  TRY(remove_slots(qmp, parts, timeout));  // an earlier run was interrupted
  all = TRY(peripherals(qmp));
  const auto ports = empty_ports(all);
  if (ports.size() < wanted.size())
    return fail(ErrorKind::unsupported,
                fmt::format("{} slots need an empty port each, and the virtual machine has {}: "
                            "start QEMU with -device pcie-root-port,id=NAME,chassis=NUMBER for "
                            "each",
                            wanted.size(), ports.size()));
  for (std::size_t index = 0; index < wanted.size(); ++index) {
    const auto added = add_slot(qmp, *wanted[index], ports[index]);
    if (added) continue;
    all = TRY(peripherals(qmp));
    std::vector<std::vector<std::string>> back;
    for (std::size_t one = 0; one <= index; ++one) back.push_back(paths_of(qmp, all, *wanted[one]));
    if (const auto undone = remove_slots(qmp, back, timeout); !undone)
      return fail(added.error().kind, fmt::format("{}; and not all was taken back: {}",
                                                  added.error().message, undone.error().message));
    return std::unexpected(added.error());
  }
  return done;
}

Result<std::vector<HotPlugged>> unplug(const std::string& socket,
                                       const std::vector<GuestSlot>& slots, milliseconds timeout) {
  auto qmp = TRY(Qmp::open(socket, deadline_in(kAnswer)));
  const auto all = TRY(peripherals(qmp));
  std::vector<HotPlugged> done;
  std::vector<std::vector<std::string>> found;
  for (const auto& slot : slots) {
    found.push_back(paths_of(qmp, all, slot));
    for (std::size_t index = 0; index < slot.size(); ++index)
      done.push_back({slot[index].value,
                      found.back()[index].empty() ? PlugState::not_plugged : PlugState::unplugged});
  }
  TRY(remove_slots(qmp, found, timeout));
  return done;
}

}  // namespace gpuready::vm
