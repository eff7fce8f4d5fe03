// Logical volumes of LVM2 in the bytes of its disks (physical volumes). Pure.
// Format: "LVM format specification" of libvslvm; lvm2, its lib/format_text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gpuready::vm {

struct LvmSegment {
  std::string disk;  // the physical volume's UUID, without hyphens
  std::uint64_t sectors = 0, disk_sector = 0;
};
struct LvmVolume {
  std::string name, uuid;
  bool visible = true, read_only = false;
  std::vector<LvmSegment> segments;  // in order, without gaps
  std::string refused;               // why it cannot be mapped; empty: it can
};
struct LvmGroup {
  std::string name, uuid;
  std::uint64_t version = 0;  // of the metadata: each change increases it
  std::vector<LvmVolume> volumes;
};
// An error is damage; what LVM can do and we cannot is in LvmVolume::refused.
Result<LvmGroup> parse_lvm_metadata(std::string_view text);

struct LvmDisk {
  std::string uuid;
  std::optional<LvmGroup> group;  // not every disk has a copy of its group's metadata
  std::string problem;            // why a copy cannot be used
};
// Up to `bytes` of the disk from `offset`.
using ReadDisk = std::function<std::vector<std::uint8_t>(std::uint64_t offset, std::size_t bytes)>;
// Nothing: not a physical volume.
std::optional<LvmDisk> read_lvm_disk(const ReadDisk& read);

// As in /dev/mapper: "vg-lv", with hyphens of either name doubled.
std::string lvm_map_name(const LvmGroup& group, const LvmVolume& volume);

}  // namespace gpuready::vm
