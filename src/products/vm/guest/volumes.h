// The names by which root= may call a filesystem, its partition or its logical volume.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "vm/guest/device_mapper.h"

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

struct Volume {
  std::string path;              // of the disk or partition,
  std::optional<LinearMap> map;  // or the logical volume that must be mapped first
};
// What has this name now: also "/dev/mapper/VG-LV" and "/dev/VG/LV". The error lists the names that
// exist. `above` is a folder that holds sys/class/block and dev.
Result<Volume> find_volume(std::string_view root, const std::string& above = "");

// "LUKS encryption" or the like if that is what a device starts with, and not a filesystem.
std::string_view container_in(Bytes start);
std::string_view container_on(const std::string& path);
inline constexpr std::string_view kNeedsOwnInitrd =
    "only the distribution's own initrd opens it; `vm initrd --segment` adds the driver to that";

}  // namespace gpuready::vm
