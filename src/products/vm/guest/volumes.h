// The names by which root= may call a filesystem or its partition.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace gpuready::vm {

struct VolumeNames {
  std::string uuid, label;            // of the filesystem: ext2 to ext4, XFS, btrfs
  std::string part_uuid, part_label;  // of the partition: GPT, MBR
};

// Reads the filesystem's names from the first kVolumeBytes of a disk or partition.
inline constexpr std::size_t kVolumeBytes = 68u << 10;
void read_filesystem_names(Bytes start, VolumeNames& names);
// The names of partition `number` (from 1) from the first bytes of its disk.
void read_partition_names(Bytes disk, unsigned number, std::size_t block_bytes, VolumeNames& names);

// Whether `root` is a name and not the path of a device: "UUID=...", "LABEL=...", "PARTUUID=...",
// "PARTLABEL=...", or such a link below /dev/disk, which only udev makes.
bool is_volume_name(std::string_view root);
// The path of the disk or partition that has this name now. The error lists the names that exist.
// `above` is a folder that holds sys/class/block and dev.
Result<std::string> find_volume(std::string_view root, const std::string& above = "");

}  // namespace gpuready::vm
