#include "vm/guest/volumes.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "unit/products/vm/driver_folder.h"

namespace gpuready::vm {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUuidBytes =
    "\x12\x34\x56\x78\x9a\xbc\xde\xf0\x01\x23\x45\x67\x89\xab\xcd\xef";
constexpr const char* kUuid = "12345678-9abc-def0-0123-456789abcdef";

std::string zeros(std::size_t bytes) { return std::string(bytes, '\0'); }
void put(std::string& image, std::size_t at, std::string_view bytes) {
  image.replace(at, bytes.size(), bytes);
}

// Offsets: fs/ext4/ext4.h, fs/xfs/libxfs/xfs_format.h, include/uapi/linux/btrfs_tree.h.
std::string ext4(std::string_view label) {
  std::string image = zeros(kVolumeBytes);
  put(image, 1024 + 56, "\x53\xef");
  put(image, 1024 + 104, kUuidBytes);
  put(image, 1024 + 120, label);
  return image;
}
std::string xfs() {
  std::string image = zeros(kVolumeBytes);
  put(image, 0, "XFSB");
  put(image, 32, kUuidBytes);
  put(image, 108, "xfs-twelve-b");  // all 12 bytes: no NUL behind it
  return image;
}
std::string btrfs() {
  std::string image = zeros(kVolumeBytes);
  put(image, 65536 + 64, "_BHRfS_M");
  put(image, 65536 + 32, kUuidBytes);
  put(image, 65536 + 299, "data");
  return image;
}
// Partition 2 of a GPT with entries in the third block, of blocks of this size.
std::string gpt(std::size_t block) {
  std::string image = zeros(kVolumeBytes);
  put(image, block, "EFI PART");
  put(image, block + 72, std::string_view("\2\0\0\0\0\0\0\0", 8));
  put(image, block + 84, std::string_view("\x80\0\0\0", 4));
  put(image, 2 * block + 128 + 16, kUuidBytes);
  put(image, 2 * block + 128 + 56, std::string_view("r\0o\0o\0t\0", 8));
  return image;
}

TEST(Volumes, FilesystemsAreReadByTheirSuperblocks) {
  struct Case {
    std::string image, label;
  };
  for (const auto& one :
       {Case{ext4("root"), "root"}, Case{xfs(), "xfs-twelve-b"}, Case{btrfs(), "data"}}) {
    VolumeNames names;
    read_filesystem_names(bytes_of(one.image), names);
    EXPECT_EQ(names.uuid, kUuid);
    EXPECT_EQ(names.label, one.label);
    VolumeNames none;  // cut short in the superblock
    read_filesystem_names(bytes_of(std::string_view(one.image).substr(0, 30)), none);
    EXPECT_EQ(none.label, "");
  }
}

TEST(Volumes, PartitionsAreReadFromTheirDisk) {
  for (const std::size_t block : {512, 4096}) {
    VolumeNames names;
    read_partition_names(bytes_of(gpt(block)), 2, block, names);
    // The first three fields of a GUID are little-endian.
    EXPECT_EQ(names.part_uuid, "78563412-bc9a-f0de-0123-456789abcdef");
    EXPECT_EQ(names.part_label, "root");
    VolumeNames other;
    read_partition_names(bytes_of(gpt(block)), 4000, block, other);  // behind what was read
    EXPECT_EQ(other.part_uuid, "");
  }
  std::string mbr = zeros(512);
  put(mbr, 440, "\xef\xbe\xad\xde");
  put(mbr, 510, "\x55\xaa");
  VolumeNames names;
  read_partition_names(bytes_of(mbr), 10, 512, names);
  EXPECT_EQ(names.part_uuid, "deadbeef-0a");
}

TEST(Volumes, ADeviceIsFoundByEachOfItsNames) {
  TestFolder folder;
  const auto above = folder.path();
  folder.write("sys/devices/vda/queue/logical_block_size", "512\n");
  folder.write("sys/devices/vda/vda2/partition", "2\n");
  folder.write("dev/vda", gpt(512));
  folder.write("dev/vda2", ext4("root"));
  fs::create_directories(above + "/sys/class/block");
  fs::create_symlink("../../devices/vda", above + "/sys/class/block/vda");
  fs::create_symlink("../../devices/vda/vda2", above + "/sys/class/block/vda2");
  for (const std::string name :
       {"UUID=12345678-9ABC-def0-0123-456789abcdef", "LABEL=root", "PARTLABEL=root",
        "PARTUUID=78563412-bc9a-f0de-0123-456789abcdef", "/dev/disk/by-label/root"}) {
    EXPECT_TRUE(is_volume_name(name));
    const auto found = find_volume(name, above);
    ASSERT_TRUE(found) << name << ": " << found.error().message;
    EXPECT_EQ(found->path, above + "/dev/vda2") << name;
  }
  const auto none = find_volume("LABEL=Root", above);
  ASSERT_FALSE(none);
  EXPECT_TRUE(none.error().message.find("/dev/vda2 LABEL=root") != std::string::npos)
      << none.error().message;
  EXPECT_FALSE(find_volume("LABEL=", above));
  EXPECT_EQ(find_volume("/dev/sda1", above)->path, "/dev/sda1");
  EXPECT_FALSE(find_volume("UUID=x", above + "/none"));
}

}  // namespace
}  // namespace gpuready::vm
