#include "vm/storage_use.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "machine/pci_files.h"

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

std::string name_of(Host& host, const Mount& mount) {
  if (const auto path = host.real_path("/sys/dev/block/" + mount.device))
    return std::string(last_component(*path));
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
  for (const auto& mount : parse_mounts(host.read_text("/proc/self/mountinfo").value_or(""))) {
    use.pools_unknown |= mount.type == "zfs";
    if (const auto name = name_of(host, mount); !name.empty())
      add_layers(host, name, {mount.point, mount.point == "/"}, 0, claims);
  }
  for (const auto line : lines(host.read_text("/proc/swaps").value_or(""))) {
    const auto words = split(line, " \t");
    if (words.empty()) continue;
    if (const auto name = name_of_source(host, std::string(words[0])); !name.empty())
      add_layers(host, name, {"swap", true}, 0, claims);
  }
  for (const auto& name : listed(host, kBlocks)) {
    const auto folder = host.real_path(kBlocks + name);
    if (!folder) continue;
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
