#include "vm/usage/block_devices.h"

#include <algorithm>

#include "base/paths.h"
#include "base/text.h"
#include "machine/pci/pci_files.h"

namespace gpuready::vm {
namespace {

constexpr std::string_view kVirtual = "/sys/devices/virtual/";

// Kinds of virtual block devices that no device of this machine carries, or the file that an
// attribute names does.
struct VirtualKind {
  std::string_view prefix;     // a number follows
  std::string_view backed_by;  // an attribute; empty: none
};
constexpr VirtualKind kVirtualKinds[] = {
    {"loop", "loop/backing_file"},
    {"zram", "backing_dev"},
    {"ram", ""},
    {"nbd", ""},
    {"rbd", ""},
    {"nullb", ""},
};

bool is_numbered(std::string_view name, std::string_view prefix) {
  const auto number = after_prefix(name, prefix);
  return number && parse_uint(*number).has_value();
}

// "nvme0n1" and its paths "nvme0c0n1", "nvme0c1n1": the same name without the controller.
std::string without_controller(std::string_view name) {
  if (!name.starts_with("nvme")) return {};
  const auto controller = name.find('c'), space = name.find('n', 1);
  if (controller == name.npos || space == name.npos || space < controller) return {};
  return std::string(name.substr(0, controller)) + std::string(name.substr(space));
}

void add(BlockPlace& place, const BlockPlace& other) {
  place.functions.insert(other.functions.begin(), other.functions.end());
  place.known &= other.known;
}

// Hardware: its PCI functions, or none where it is on another bus.
BlockPlace of_path(const std::string& path) {
  const auto functions = parse_pci_path(path).path;
  const bool remote = contains(path, "/nvme-fabrics/");  // over a network
  return {.functions = {functions.begin(), functions.end()},
          .known = !functions.empty() || remote || !path.starts_with(kVirtual)};
}

}  // namespace

BlockDevices::BlockDevices(Host& host, StrictReader& strict) : host_(host) {
  names_ = strict.list(kBlockDevices);
  for (const auto& name : names_) {
    const auto folder = host.real_path(kBlockDevices + name);
    if (is_device_path(folder))
      folders_[name] = *folder;
    else
      strict.note("where " + (kBlockDevices + printable(name)) +
                  " leads is not known: it is a link to no device");
  }
}

std::string BlockDevices::mapped(const std::string& name) const {
  for (const auto& [block, folder] : folders_)
    if (block.starts_with("dm-") && host_.read_text(folder + "/dm/name") == name) return block;
  return {};
}

BlockPlace BlockDevices::of_layers(const std::vector<std::string>& below, Walk& way) const {
  BlockPlace place;
  for (const auto& name : below) add(place, walk(name, way));
  return place;
}

// Linux, drivers/nvme/host/multipath.c: what is used lies below the subsystem; its paths are hidden
// disks below the controllers, to which the subsystem has links.
BlockPlace BlockDevices::of_multipath(const std::string& whole) const {
  BlockPlace place;
  bool found = false;
  const auto add_path = [&](const Result<std::string>& path) {
    found = true;
    add(place, is_device_path(path) ? of_path(*path) : BlockPlace{.functions = {}, .known = false});
  };
  const std::string subsystem = gpuready::folder_of(whole);
  const auto inside = host_.list_directory(subsystem);
  for (const auto& name : inside.value_or(std::vector<std::string>{}))
    if (is_numbered(name, "nvme")) add_path(host_.real_path(subsystem + "/" + name));
  for (const auto& [name, folder] : folders_)
    if (without_controller(name) == base_name(whole)) add_path(folder);
  place.known &= found;
  return place;
}

BlockPlace BlockDevices::of_virtual(const std::string& whole, Walk& way) const {
  const std::string name(base_name(whole));
  for (const auto& kind : kVirtualKinds) {
    if (!is_numbered(name, kind.prefix)) continue;
    if (kind.backed_by.empty()) return {};
    const auto file = host_.read_text(whole + "/" + std::string(kind.backed_by));
    if (!file || !file->starts_with('/')) return {};  // nothing is behind it
    return of_layers(way.owners_of(*file), way);
  }
  return {.functions = {}, .known = false};
}

BlockPlace BlockDevices::below(const std::string& folder, Walk& way) const {
  if (auto place = of_path(folder); place.known) return place;
  const auto whole = host_.exists(folder + "/partition") ? gpuready::folder_of(folder) : folder;
  if (whole.starts_with(std::string(kVirtual) + "nvme-subsystem/")) return of_multipath(whole);
  const auto slaves = host_.list_directory(whole + "/slaves");
  return slaves && !slaves->empty() ? of_layers(*slaves, way) : of_virtual(whole, way);
}

BlockPlace BlockDevices::walk(const std::string& name, Walk& way) const {
  const auto met = way.ended.find(name);
  if (met != way.ended.end()) return {.functions = {}, .known = met->second};
  const auto folder = folders_.find(name);
  if (folder == folders_.end()) return {.functions = {}, .known = false};
  way.ended[name] = false;  // a circle: no one knows what it lies on
  auto place = below(folder->second, way);
  way.ended[name] = true;
  return place;
}

BlockPlace BlockDevices::place_of(const std::string& name, const OwnersOf& owners_of) const {
  Walk way{.owners_of = owners_of};
  return walk(name, way);
}

}  // namespace gpuready::vm
