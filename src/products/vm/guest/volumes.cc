#include "vm/guest/volumes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "base/descriptor.h"
#include "base/text.h"
#include "vm/guest/lvm.h"

namespace gpuready::vm {
namespace {

namespace fs = std::filesystem;

struct NameKind {
  std::string_view word, folder;
  std::string VolumeNames::* member;
  bool any_case;
};
constexpr NameKind kKinds[] = {
    {"UUID=", "/dev/disk/by-uuid/", &VolumeNames::uuid, true},
    {"LABEL=", "/dev/disk/by-label/", &VolumeNames::label, false},
    {"PARTUUID=", "/dev/disk/by-partuuid/", &VolumeNames::part_uuid, true},
    {"PARTLABEL=", "/dev/disk/by-partlabel/", &VolumeNames::part_label, false},
};

struct Wanted {
  const NameKind* kind;
  std::string_view value;
};
std::optional<Wanted> parse(std::string_view root) {
  for (const auto& kind : kKinds)
    for (const auto start : {kind.word, kind.folder})
      if (root.starts_with(start)) return Wanted{&kind, root.substr(start.size())};
  return std::nullopt;
}

// Linux, Documentation/filesystems/ext4/super.rst; xfs_format.h;
// Documentation/filesystems/btrfs (on-disk format).
struct Superblock {
  std::string_view magic;
  std::size_t magic_at, uuid_at, label_at, label_bytes;
};
constexpr Superblock kSuperblocks[] = {
    {"\x53\xef", 1024 + 0x38, 1024 + 0x68, 1024 + 0x78, 16},
    {"XFSB", 0, 32, 108, 12},
    {"_BHRfS_M", 0x10040, 0x10020, 0x1012b, 256},
};

constexpr std::size_t kUuidBytes = 16;

std::string uuid_text(Bytes bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    out += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
  return out;
}

// The first three fields are little-endian (UEFI Specification, appendix A).
std::string guid_text(Bytes guid) {
  std::vector<std::uint8_t> bytes(guid.begin(), guid.end());
  std::reverse(bytes.begin(), bytes.begin() + 4);
  std::reverse(bytes.begin() + 4, bytes.begin() + 6);
  std::reverse(bytes.begin() + 6, bytes.begin() + 8);
  return uuid_text(bytes);
}

// ASCII out of UTF-16; other characters become '?'.
std::string name_text(Bytes utf16) {
  std::string out;
  for (std::size_t at = 0; at + 1 < utf16.size(); at += 2) {
    const auto unit = load<std::uint16_t>(utf16, at).value_or(0);
    if (unit == 0) break;
    out += unit < 0x80 ? static_cast<char>(unit) : '?';
  }
  return out;
}

std::vector<std::uint8_t> read_at(const std::string& path, std::uint64_t offset,
                                  std::size_t bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<std::uint8_t> out(bytes);
  std::size_t have = 0;
  while (file && have < bytes) {
    const auto got =
        ::pread(file.get(), out.data() + have, bytes - have, static_cast<off_t>(offset + have));
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  out.resize(have);
  return out;
}

std::vector<std::uint8_t> read_start(const std::string& path, std::size_t bytes) {
  return read_at(path, 0, bytes);
}

std::optional<std::uint64_t> number_in(const fs::path& file) {
  const auto bytes = read_start(file, 32);
  return parse_uint(trim(text_of(bytes)));
}

VolumeNames names_of(const fs::path& entry, const std::string& dev) {
  VolumeNames names;
  read_filesystem_names(read_start(dev + entry.filename().string(), kVolumeBytes), names);
  std::error_code error;
  const auto place = fs::canonical(entry, error);
  const auto number = number_in(entry / "partition");
  if (error || !number) return names;
  const auto disk = place.parent_path();
  read_partition_names(read_start(dev + disk.filename().string(), kVolumeBytes),
                       static_cast<unsigned>(*number),
                       number_in(disk / "queue/logical_block_size").value_or(512), names);
  return names;
}

// The physical volumes of LVM on this machine's disks.
struct LvmDisks {
  std::map<std::string, std::vector<std::string>> devices;  // names in /sys/class/block by UUID
  std::map<std::string, LvmGroup> groups;                   // by UUID; the newest metadata
  std::vector<std::string> problems;
};

bool has_partitions(const fs::path& entry) {
  std::error_code error;
  for (const auto& below : fs::directory_iterator(entry, error))
    if (fs::exists(below.path() / "partition", error)) return true;
  return false;
}

LvmDisks lvm_disks(const std::string& above) {
  LvmDisks out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(above + "/sys/class/block", error)) {
    const auto name = entry.path().filename().string();
    // A disk with partitions is not a physical volume, even if an old label is left on it.
    if (name.starts_with("dm-") || has_partitions(entry.path())) continue;
    const auto path = above + "/dev/" + name;
    auto disk = read_lvm_disk(
        [&](std::uint64_t offset, std::size_t bytes) { return read_at(path, offset, bytes); });
    if (!disk) continue;
    out.devices[disk->uuid].push_back(name);
    if (!disk->group) {
      if (!disk->problem.empty()) out.problems.push_back(path + ": " + disk->problem);
      continue;
    }
    auto& group = out.groups[disk->group->uuid];
    if (group.name.empty() || group.version < disk->group->version) group = std::move(*disk->group);
  }
  return out;
}

// The device that holds the segment. An error names what is in the way.
Result<std::string> device_of(const LvmSegment& segment, const LvmDisks& disks) {
  const auto found = disks.devices.find(segment.disk);
  if (found == disks.devices.end())
    return fail(ErrorKind::not_found, "lacks the disk with the LVM id " + segment.disk);
  if (found->second.size() > 1)  // one of a RAID's disks, or a path of several
    return fail(ErrorKind::unsupported,
                "is on a disk that is here twice: " + join(found->second, ", ") +
                    " (RAID, multipath); " + std::string(kNeedsOwnInitrd));
  return found->second[0];
}

Result<LinearMap> map_of(const LvmGroup& group, const LvmVolume& volume, const LvmDisks& disks,
                         const std::string& above) {
  if (!volume.refused.empty())
    return fail(ErrorKind::unsupported, volume.refused + "; " + std::string(kNeedsOwnInitrd));
  LinearMap map{
      lvm_map_name(group, volume), "LVM-" + group.uuid + volume.uuid, volume.read_only, {}};
  for (const auto& segment : volume.segments) {
    const auto device = TRY(device_of(segment, disks));
    const auto number = read_start(above + "/sys/class/block/" + device + "/dev", 32);
    map.parts.push_back({segment.sectors, std::string(trim(text_of(number))), segment.disk_sector});
  }
  return map;
}

// The start of a logical volume, as far as its first segment has it.
std::vector<std::uint8_t> start_of(const LvmVolume& volume, const LvmDisks& disks,
                                   const std::string& above) {
  constexpr std::uint64_t kSector = 512;
  if (!volume.refused.empty()) return {};
  const auto& segment = volume.segments[0];
  const auto device = device_of(segment, disks);
  if (!device) return {};
  return read_at(above + "/dev/" + *device, segment.disk_sector * kSector,
                 std::min<std::uint64_t>(kVolumeBytes, segment.sectors * kSector));
}

// A path that LVM's names have, and that no device has yet.
bool may_be_logical(std::string_view root, const std::string& above) {
  const auto below = after_prefix(root, "/dev/");
  std::error_code error;
  return below && std::ranges::count(*below, '/') == 1 &&
         !fs::exists(above + std::string(root), error);
}

}  // namespace

void read_filesystem_names(Bytes start, VolumeNames& names) {
  for (const auto& block : kSuperblocks) {
    if (text_of(slice(start, block.magic_at, block.magic.size())) != block.magic) continue;
    const auto label = text_of(slice(start, block.label_at, block.label_bytes));
    names.uuid = uuid_text(slice(start, block.uuid_at, kUuidBytes));
    names.label = label.substr(0, label.find('\0'));
    return;
  }
}

// UEFI Specification, 5.3: the header is in the second block. Linux, msdos.c:
// the MBR's 32-bit id and the partition's number.
void read_partition_names(Bytes disk, unsigned number, std::size_t block_bytes,
                          VolumeNames& names) {
  constexpr std::size_t kMbrId = 440, kMbrEnd = 510;
  const auto header = slice(disk, block_bytes, block_bytes);
  if (starts_with(header, "EFI PART")) {
    const auto first = load<std::uint64_t>(header, 72);
    const auto size = load<std::uint32_t>(header, 84);
    if (!first || !size || *first > disk.size()) return;
    const auto entry =
        whole_slice(disk, *first * block_bytes + (number - 1) * std::uint64_t{*size}, 128);
    if (entry.empty()) return;
    names.part_uuid = guid_text(entry.subspan(16, kUuidBytes));
    names.part_label = name_text(entry.subspan(56, 72));
  } else if (starts_with(slice(disk, kMbrEnd, 2), "\x55\xaa")) {
    names.part_uuid =
        fmt::format("{:08x}-{:02x}", load<std::uint32_t>(disk, kMbrId).value_or(0), number);
  }
}

bool is_volume_name(std::string_view root) { return parse(root).has_value(); }

std::string_view container_in(Bytes start) {
  constexpr std::uint32_t kMdMagic = 0xa92b4efc;  // of md; its other versions are at the end
  if (starts_with(start, "LUKS\xba\xbe")) return "LUKS encryption";
  for (const std::uint64_t at : {0u, 4096u})
    if (load<std::uint32_t>(start, at) == kMdMagic) return "a part of a RAID (md)";
  return {};
}

std::string_view container_on(const std::string& path) {
  return container_in(read_start(path, kVolumeBytes));
}

Result<Volume> find_volume(std::string_view root, const std::string& above) {
  const auto wanted = parse(root);
  if (!wanted && !may_be_logical(root, above)) return Volume{std::string(root), {}};
  const auto dev = above + "/dev/";
  const auto fits = [&](const VolumeNames& names) {
    if (!wanted) return false;
    const auto& name = names.*wanted->kind->member;
    return !name.empty() && (wanted->kind->any_case ? equals_ignore_case(name, wanted->value)
                                                    : name == wanted->value);
  };
  std::vector<std::string> seen;
  const auto see = [&](const std::string& path, const VolumeNames& names, std::string_view what) {
    const auto name = wanted ? names.*wanted->kind->member : std::string();
    seen.push_back(path + (name.empty() ? "" : fmt::format(" {}{}", wanted->kind->word, name)) +
                   (what.empty() ? "" : fmt::format(" ({})", what)));
  };
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(above + "/sys/class/block", error)) {
    const auto names = names_of(entry.path(), dev);
    const auto path = dev + entry.path().filename().string();
    if (fits(names)) return Volume{path, {}};
    see(path, names, container_on(path));
  }
  const auto disks = lvm_disks(above);
  for (const auto& [uuid, group] : disks.groups)
    for (const auto& volume : group.volumes) {
      if (!volume.visible) continue;
      const auto path = "/dev/mapper/" + lvm_map_name(group, volume);
      const auto start = start_of(volume, disks, above);
      VolumeNames names;
      read_filesystem_names(start, names);
      if (fits(names) || root == path || root == "/dev/" + group.name + "/" + volume.name) {
        auto map = map_of(group, volume, disks, above);
        if (!map) return fail(map.error().kind, path + " " + map.error().message);
        return Volume{path, std::move(*map)};
      }
      see(path, names, volume.refused.empty() ? container_in(start) : volume.refused);
    }
  std::ranges::sort(seen);
  seen.insert(seen.end(), disks.problems.begin(), disks.problems.end());
  return fail(ErrorKind::not_found,
              seen.empty() ? "no disk was found; does the bundle have the module of its controller "
                             "(vm drivers collect --module)?"
                           : "no disk has this name; found: " + join(seen, ", "));
}

}  // namespace gpuready::vm
