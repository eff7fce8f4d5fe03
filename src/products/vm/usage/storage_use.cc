#include "vm/usage/storage_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/kernel/mount_table.h"
#include "base/paths.h"
#include "base/text.h"
#include "machine/pci/pci_files.h"
#include "vm/strict_reader.h"
#include "vm/usage/block_devices.h"

namespace gpuready::vm {
namespace {

// Folders in which a filesystem's driver has an entry for each one that is mounted, in whatever
// mount namespace, by the name of its block device.
constexpr std::string_view kMountedFolders[] = {"/sys/fs/ext4", "/sys/fs/xfs", "/sys/fs/f2fs",
                                                "/sys/fs/erofs", "/sys/fs/jfs"};
const std::string kBtrfs = "/sys/fs/btrfs/", kBcachefs = "/sys/fs/bcachefs/",
                  kBcache = "/sys/fs/bcache/", kZfsPools = "/proc/spl/kstat/zfs/";

// Filesystems on virtio devices: a type, its transport in the options of the mount, the driver.
struct VirtioFilesystem {
  std::string_view type, transport, driver;
};
constexpr VirtioFilesystem kVirtioFilesystems[] = {{"9p", "virtio", "9pnet_virtio"},
                                                   {"virtiofs", "", "virtiofs"}};

// Exports of the kernel that claim no disk exclusively, each a folder of configfs: the module,
// where their folders are, the attribute with the path of what is exported, and what precedes it
// there.
struct KernelExport {
  std::string_view module, above, below, attribute, before;
};
constexpr KernelExport kExports[] = {
    {"nvmet", "/sys/kernel/config/nvmet/subsystems", "/namespaces", "device_path", ""},
    {"target_core_file", "/sys/kernel/config/target/core", "", "info", "File: "},
};

using Names = std::vector<std::string>;

class StorageReader {
 public:
  explicit StorageReader(Host& host)
      : host_(host), strict_(host, use_.unclear), blocks_(host, strict_) {}

  StorageUse read(const Names& foreign) {
    read_mounts(foreign);
    claim_what_drivers_hold();
    claim_swap();
    claim_exports();
    claim_loops();
    add_disks();
    return std::move(use_);
  }

 private:
  struct User {
    std::string by;
    bool essential = false;
  };
  struct Mounted {
    Mount mount;
    Names blocks;
  };

  Names listed(const std::string& folder) { return host_.list_directory(folder).value_or(Names{}); }

  void claim(const std::string& name, const User& user) {
    auto& known = users_[name];
    known.essential |= user.essential;
    if (known.by.empty()) known.by = user.by;
  }

  // ---- names

  std::string name_of_node(const std::string& path) {
    const auto real = host_.real_path(path);
    std::string name(last_component(real ? *real : path));
    if (blocks_.has(name)) return name;
    const auto mapped = blocks_.mapped(name);
    return mapped.empty() ? name : mapped;
  }

  // The sources of filesystems on several devices are written "/dev/sda:/dev/sdb".
  Names names_of_source(std::string_view source) {
    Names names;
    while (source.starts_with("/dev/")) {
      const auto end = source.find(":/dev/");
      names.push_back(name_of_node(std::string(source.substr(0, end))));
      source = end == source.npos ? std::string_view() : source.substr(end + 1);
    }
    return names;
  }

  Names names_of(const Mount& mount) {
    const auto link = "/sys/dev/block/" + mount.device;
    if (const auto path = host_.real_path(link); is_device_path(path))
      return {std::string(last_component(*path))};
    // Filesystems on no single block device have numbers of major 0.
    if (!mount.device.starts_with("0:"))
      strict_.note("which disk " + printable(link) +
                   " is, is not known: it is a link to no device");
    return names_of_source(mount.source);
  }

  // The block device whose node this is, in whatever folder; "" for anything else.
  std::string block_at(const std::string& path) {
    const auto status = host_.status(path);
    if (!status || status->kind != FileKind::block_device) return {};
    const auto folder = host_.real_path(
        fmt::format("/sys/dev/block/{}:{}", status->device_major, status->device_minor));
    return is_device_path(folder) ? std::string(last_component(*folder)) : std::string();
  }

  // Of a file, those of the filesystem that it is on.
  Names owners_of(const std::string& path) {
    if (const auto node = block_at(path); !node.empty()) return {node};
    if (path.starts_with("/dev/")) return {name_of_node(path)};
    const Mounted* best = nullptr;
    for (const auto& one : mounted_) {
      const auto& point = one.mount.point;
      const bool inside = point == "/" || path == point || path.starts_with(point + "/");
      if (inside && (!best || point.size() >= best->mount.point.size())) best = &one;
    }
    return best ? best->blocks : Names{};
  }

  // ---- who uses them

  void read_mounts(const Names& foreign) {
    for (auto& mount : parse_mounts(strict_.text("/proc/self/mountinfo").value_or("")))
      mounted_.push_back({.mount = std::move(mount), .blocks = {}});
    if (std::ranges::none_of(mounted_, [](const Mounted& m) { return m.mount.point == "/"; }))
      strict_.note("/proc/self/mountinfo does not name the root filesystem");
    for (auto& mount : parse_mounts(join(foreign, "\n"))) {
      mount.point += " of another mount namespace";
      mounted_.push_back({.mount = std::move(mount), .blocks = {}});
    }
    for (const auto& one : mounted_) add_virtio_mount(one.mount);
    for (auto& one : mounted_) {
      if (one.mount.point == "/" && one.mount.type.empty() && one.mount.device.starts_with("0:"))
        strict_.note("/proc/self/mountinfo does not say what the root filesystem is");
      use_.pools_unknown |= one.mount.type == "zfs";
      one.blocks = names_of(one.mount);
      // Logs and other parts that lie apart: XFS's logdev= and rtdev=.
      for (const auto option : split(one.mount.options, ","))
        if (const auto value = option.find("=/dev/"); value != option.npos)
          one.blocks.push_back(name_of_node(std::string(option.substr(value + 1))));
    }
    add_members_of_btrfs();
    for (const auto& one : mounted_)
      for (const auto& name : one.blocks)
        claim(name, {.by = one.mount.point, .essential = one.mount.point == "/"});
  }

  void add_virtio_mount(const Mount& mount) {
    for (const auto& [type, transport, driver] : kVirtioFilesystems) {
      if (mount.type != type) continue;
      const auto options = split(mount.options, ",");
      const auto told = std::ranges::find_if(
          options, [](std::string_view option) { return option.starts_with("trans="); });
      if (transport.empty() || told == options.end() || told->substr(6) == transport)
        use_.of_virtio.push_back({mount.point, mount.type, std::string(driver)});
    }
  }

  // A mount names one of its devices at most, and "/dev/root" none.
  void add_members_of_btrfs() {
    std::vector<Names> filesystems;
    for (const auto& id : listed(kBtrfs))
      if (auto members = listed(kBtrfs + id + "/devices"); !members.empty())
        filesystems.push_back(std::move(members));
    for (auto& one : mounted_) {
      if (one.mount.type != "btrfs") continue;
      std::erase_if(one.blocks, [&](const std::string& name) {
        return !filesystems.empty() && !blocks_.has(name);
      });
      const auto is_of_it = [&](const Names& members) {
        return std::ranges::find_first_of(members, one.blocks) != members.end();
      };
      const bool told = std::ranges::any_of(filesystems, is_of_it);
      Names all;
      for (const auto& members : filesystems)
        if (!told || is_of_it(members)) all.insert(all.end(), members.begin(), members.end());
      if (all.empty())
        strict_.note(kBtrfs + " does not report which disks " + printable(one.mount.point) +
                     " has");
      one.blocks.insert(one.blocks.end(), all.begin(), all.end());
    }
    for (const auto& members : filesystems)
      for (const auto& name : members) claim_unseen(name, "btrfs");
  }

  void claim_unseen(const std::string& name, std::string_view driver) {
    unseen_.emplace_back(name, "a filesystem of " + std::string(driver) + " that is mounted");
  }

  // What is not among this process's mounts: of other mount namespaces, caches, pools.
  void claim_what_drivers_hold() {
    for (const auto folder : kMountedFolders)
      for (const auto& name : listed(std::string(folder)))
        if (blocks_.has(name)) claim_unseen(name, base_name(folder));
    const auto claim_links = [&](const std::string& folder, std::string_view start,
                                 const std::string& below, std::string_view driver) {
      for (const auto& name : listed(folder)) {
        if (!name.starts_with(start)) continue;
        const auto path = host_.real_path(folder + "/" + name + below);
        if (!is_device_path(path)) continue;
        const auto block = below.empty() ? gpuready::folder_of(*path) : *path;
        claim_unseen(std::string(last_component(block)), driver);
      }
    };
    for (const auto& id : listed(kBcachefs))
      claim_links(kBcachefs + id, "dev-", "/block", "bcachefs");
    for (const auto& id : listed(kBcache)) {
      claim_links(kBcache + id, "cache", "", "bcache");
      claim_links(kBcache + id, "bdev", "", "bcache");
    }
    for (const auto& [name, by] : unseen_) claim(name, {.by = by});
    // A pool may be imported and have nothing mounted: its volumes are block devices.
    for (const auto& pool : listed(kZfsPools))
      use_.pools_unknown |= !listed(kZfsPools + pool).empty();
  }

  void claim_swap() {
    const auto swaps = strict_.text("/proc/swaps").value_or("");
    if (!swaps.empty() && !swaps.starts_with("Filename"))
      strict_.note("/proc/swaps does not begin as a list of swap does");
    for (const auto line : lines(swaps)) {
      const auto words = split(line, " \t");
      if (words.empty() || !words[0].starts_with('/')) continue;
      for (const auto& name : owners_of(without_escapes(words[0]))) claim(name, {"swap", true});
    }
  }

  void claim_exports() {
    for (const auto& kind : kExports) {
      const std::string above(kind.above), module(kind.module);
      if (!host_.exists("/sys/module/" + module)) continue;
      if (!host_.list_directory(above))
        strict_.note(above + " cannot be read, and " + module + " may export disks");
      for (const auto& group : listed(above)) {
        const auto folder = above + "/" + group + std::string(kind.below);
        for (const auto& name : listed(folder)) claim_export(kind, folder + "/" + name);
      }
    }
  }

  void claim_export(const KernelExport& kind, const std::string& folder) {
    if (host_.read_text(folder + "/enable") != "1") return;
    const auto text = host_.read_text(folder + "/" + std::string(kind.attribute)).value_or("");
    const auto start = text.find(kind.before);
    if (start == text.npos) return;  // an export of another kind
    const auto words = split(std::string_view(text).substr(start + kind.before.size()), " \t\n");
    const auto path = words.empty() ? std::string() : std::string(words.front());
    if (!host_.exists(path))
      strict_.note(folder + " exports " + printable(path) +
                   ", and which device that is, is unknown");
    for (const auto& name : owners_of(path))
      claim(name, {.by = std::string(kind.module) + " exports it"});
  }

  // A loop device holds its file as a program does.
  void claim_loops() {
    for (const auto& name : blocks_.names()) {
      if (!blocks_.has(name)) continue;
      const auto file = host_.read_text(blocks_.folder_of(name) + "/loop/backing_file");
      if (!file) continue;
      if (const auto disk = block_at(*file); !disk.empty()) claim(disk, {.by = name});
    }
  }

  // ---- what they lie on

  BlockPlace place_of(const std::string& name) {
    return blocks_.place_of(name, [this](const std::string& path) { return owners_of(path); });
  }

  bool is_whole(const std::string& folder) {
    return !host_.exists(folder + "/partition") && host_.read_text(folder + "/hidden") != "1";
  }

  void add_disks() {
    for (const auto& name : blocks_.names()) {
      if (!blocks_.has(name)) continue;
      StorageUse::Disk disk{.name = name,
                            .path = place_of(name).functions,
                            .used_by = {},
                            .whole = is_whole(blocks_.folder_of(name))};
      if (disk.path.empty()) continue;
      if (const auto user = users_.find(name); user != users_.end()) {
        disk.used_by = user->second.by;
        disk.essential = user->second.essential;
      }
      if (const auto holders = listed(blocks_.folder_of(name) + "/holders");
          disk.used_by.empty() && !holders.empty())
        disk.used_by = holders.front();
      use_.disks.push_back(std::move(disk));
    }
    for (const auto& [name, user] : users_)
      if (!place_of(name).known)
        strict_.note("which devices carry " + printable(name) +
                     " is not known, and it is in use: " + printable(user.by));
  }

  Host& host_;
  StorageUse use_;
  StrictReader strict_;
  BlockDevices blocks_;
  std::vector<Mounted> mounted_;
  std::map<std::string, User> users_;
  std::vector<std::pair<std::string, std::string>> unseen_;  // who uses them is said last
};

}  // namespace

StorageUse read_storage_use(Host& host, const std::vector<std::string>& foreign) {
  return StorageReader(host).read(foreign);
}

}  // namespace gpuready::vm
