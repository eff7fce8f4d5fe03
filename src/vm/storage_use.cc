#include "vm/storage_use.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "machine/pci_files.h"
#include "vm/strict_reader.h"

namespace gpuready::vm {
namespace {

const std::string kBlocks = "/sys/class/block/";
constexpr int kMostLayers = 8;  // partitions on RAID on device mapper on ...

struct Claim {
  std::string by;
  bool essential = false;
};

std::vector<std::string> listed(Host& host, const std::string& folder) {
  return host.list_directory(folder).value_or(std::vector<std::string>{});
}

// The names of the block devices that `name` lies on, itself included.
void add_layers(Host& host, const std::string& name, const Claim& claim, int layer,
                std::map<std::string, Claim>& claims) {
  if (layer > kMostLayers) return;
  auto& known = claims[name];
  known.essential |= claim.essential;
  if (known.by.empty()) known.by = claim.by;
  const auto folder = host.real_path(kBlocks + name);
  if (!folder) return;
  std::string whole = *folder;
  if (host.exists(whole + "/partition")) {
    whole.erase(whole.rfind('/'));
    claims[std::string(last_component(whole))].essential |= claim.essential;
  }
  for (const auto& slave : listed(host, whole + "/slaves"))
    add_layers(host, slave, claim, layer + 1, claims);
}

std::string name_of_source(Host& host, const std::string& source) {
  if (!source.starts_with("/dev/")) return {};
  const auto path = host.real_path(source);
  return std::string(last_component(path ? *path : source));
}

bool is_device(const Result<std::string>& path) {
  return path && path->starts_with("/sys/devices/");
}

std::string name_of(Host& host, StrictReader& strict, const Mount& mount) {
  const auto link = "/sys/dev/block/" + mount.device;
  if (const auto path = host.real_path(link); is_device(path))
    return std::string(last_component(*path));
  // Filesystems on no single block device have numbers of major 0.
  if (!mount.device.starts_with("0:"))
    strict.note("which disk " + printable(link) + " is, is not known: it is a link to no device");
  return name_of_source(host, mount.source);  // btrfs has a number of its own
}

}  // namespace

std::vector<Mount> parse_mounts(std::string_view text) {
  std::vector<Mount> mounts;
  for (const auto line : lines(text)) {
    const auto fields = split(line, " ");
    if (fields.size() < 5) continue;
    Mount mount{.device = std::string(fields[2]),
                .point = std::string(fields[4]),
                .type = {},
                .source = {}};
    const auto dash = std::ranges::find(fields, "-");
    if (fields.end() - dash > 2) {
      mount.type = *(dash + 1);
      mount.source = *(dash + 2);
    }
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

StorageUse read_storage_use(Host& host) {
  StorageUse use;
  std::map<std::string, Claim> claims;
  StrictReader strict(host, use.unclear);
  const auto mounts = parse_mounts(strict.text("/proc/self/mountinfo").value_or(""));
  if (std::ranges::find(mounts, "/", &Mount::point) == mounts.end())
    strict.note("/proc/self/mountinfo does not name the root filesystem");
  for (const auto& mount : mounts) {
    use.pools_unknown |= mount.type == "zfs";
    if (const auto name = name_of(host, strict, mount); !name.empty())
      add_layers(host, name, {mount.point, mount.point == "/"}, 0, claims);
  }
  const auto swaps = strict.text("/proc/swaps").value_or("");
  if (!swaps.empty() && !swaps.starts_with("Filename"))
    strict.note("/proc/swaps does not begin as a list of swap does");
  for (const auto line : lines(swaps)) {
    const auto words = split(line, " \t");
    if (words.empty()) continue;
    if (const auto name = name_of_source(host, std::string(words[0])); !name.empty())
      add_layers(host, name, {"swap", true}, 0, claims);
  }
  for (const auto& name : strict.list(kBlocks)) {
    const auto folder = host.real_path(kBlocks + name);
    if (!is_device(folder)) {
      strict.note("where " + kBlocks + printable(name) +
                  " leads is not known: it is a link to no device");
      continue;
    }
    const auto path = parse_pci_path(*folder).path;
    if (path.empty()) continue;
    StorageUse::Disk disk{.name = name, .path = {path.begin(), path.end()}, .used_by = {}};
    if (const auto claim = claims.find(name); claim != claims.end()) {
      disk.used_by = claim->second.by;
      disk.essential = claim->second.essential;
    }
    if (const auto holders = listed(host, *folder + "/holders");
        disk.used_by.empty() && !holders.empty())
      disk.used_by = holders.front();
    use.disks.push_back(std::move(disk));
  }
  return use;
}

}  // namespace gpuready::vm
