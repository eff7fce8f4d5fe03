#include "vm/usage/storage_use.h"

#include <gtest/gtest.h>

#include <tuple>

#include <algorithm>

#include "base/json.h"
#include "unit/machine/scripted.h"

namespace gpuready::vm {
namespace {

constexpr char kNvme[] = "/sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/",
               kSecond[] = "/sys/devices/pci0000:00/0000:02:00.0/nvme/nvme1/",
               kSubsystem[] = "/sys/devices/virtual/nvme-subsystem/nvme-subsys0/";

// A machine's block devices, mounts and swap.
struct Disks {
  Json files = {{"/proc/swaps", "Filename\tType\n"}, {"/proc/self/mountinfo", ""}};
  Json links = Json::object(), statuses = Json::object();

  void block(const std::string& name, const std::string& folder, const std::string& number = "") {
    files[folder + "/size"] = "8\n";
    links["/sys/class/block/" + name] = folder;
    if (!number.empty()) links["/sys/dev/block/" + number] = folder;
  }
  void mount(const std::string& line) {
    files["/proc/self/mountinfo"] =
        files["/proc/self/mountinfo"].get<std::string>() + "22 1 " + line + "\n";
  }
  StorageUse read() const {
    const auto text = Json{{"files", files}, {"links", links}, {"statuses", statuses}}.dump();
    return read_storage_use(*scripted(text.substr(1, text.size() - 2)));
  }
};

// "/ essential" of what uses a disk of the function, and "" when nobody does.
std::string user_of(const StorageUse& use, const char* address) {
  std::string by;
  bool essential = false;
  for (const auto& disk : use.disks) {
    if (!disk.path.contains(*parse_pci_address(address))) continue;
    if (by.empty()) by = disk.used_by;
    essential |= disk.essential;
  }
  return by + (essential ? " essential" : "");
}

Disks with_root() {
  Disks disks;
  disks.block("nvme0n1", std::string(kNvme) + "nvme0n1", "259:0");
  disks.block("nvme1n1", std::string(kSecond) + "nvme1n1", "259:5");
  return disks;
}

TEST(VmStorageUse, APartitionAndAHiddenPathAreNotWholeDisks) {
  const auto is_whole = [](const char* attribute, const char* text) {
    Disks disks = with_root();
    if (attribute != nullptr) disks.files[std::string(kNvme) + "nvme0n1/" + attribute] = text;
    const auto use = disks.read();
    EXPECT_EQ(use.disks.size(), 2u);
    const auto found = std::ranges::find(use.disks, "nvme0n1", &StorageUse::Disk::name);
    return found != use.disks.end() && found->whole;
  };
  EXPECT_TRUE(is_whole(nullptr, ""));
  EXPECT_TRUE(is_whole("hidden", "0\n"));
  EXPECT_FALSE(is_whole("hidden", "1\n"));
  EXPECT_FALSE(is_whole("partition", "1\n"));
}

// A filesystem of the major number 0 names its device, by the mapper's name.
TEST(VmStorageUse, AMappedDeviceIsFoundByItsName) {
  Disks disks = with_root();
  for (const auto& [dm, name, below] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"dm-0", "vg-root", "nvme0n1"}, {"dm-1", "vg-data", "nvme1n1"}}) {
    const auto folder = "/sys/devices/virtual/block/" + dm;
    disks.block(dm, folder);
    disks.files[folder + "/dm/name"] = name + "\n";
    disks.files[folder + "/slaves/" + below] = "";
  }
  disks.mount("0:40 / /data rw - btrfs /dev/mapper/vg-data rw");
  EXPECT_EQ(user_of(disks.read(), "01:00.0"), "");
  EXPECT_EQ(user_of(disks.read(), "02:00.0"), "/data");
}

// What is mounted lies below the subsystem; both controllers lead to it.
TEST(VmStorageUse, EveryPathOfNativeMultipathCarriesTheDisk) {
  Disks disks;
  disks.block("nvme0c0n1", std::string(kNvme) + "nvme0c0n1");
  disks.block("nvme0n1", std::string(kSubsystem) + "nvme0n1", "259:0");
  disks.block("nvme0n1p2", std::string(kSubsystem) + "nvme0n1/nvme0n1p2", "259:2");
  disks.files[std::string(kSubsystem) + "nvme0n1/nvme0n1p2/partition"] = "2\n";
  disks.mount("259:2 / / rw - ext4 /dev/nvme0n1p2 rw");
  EXPECT_EQ(user_of(disks.read(), "01:00.0"), "/ essential");
  EXPECT_EQ(user_of(disks.read(), "02:00.0"), "");
  disks.files[std::string(kSecond) + "model"] = "x\n";
  disks.links[std::string(kSubsystem) + "nvme1"] =
      "/sys/devices/pci0000:00/0000:02:00.0/nvme/nvme1";
  EXPECT_EQ(user_of(disks.read(), "02:00.0"), "/ essential");
  EXPECT_TRUE(disks.read().unclear.empty());
}

TEST(VmStorageUse, ADiskWhosePlaceNobodyTellsIsUnclear) {
  for (const char* folder :
       {"/sys/devices/virtual/nvme-subsystem/nvme-subsys0/x0", "/sys/devices/virtual/block/md0",
        "/sys/devices/virtual/block/dm-3", "/sys/devices/virtual/block/new0"}) {
    Disks disks = with_root();
    disks.block("x0", folder, "250:0");
    disks.mount("250:0 / / rw - ext4 /dev/x0 rw");
    EXPECT_EQ(disks.read().unclear.size(), 1u) << folder;
  }
}

TEST(VmStorageUse, WhatIsNoHardwareOfThisBusIsNotUnclear) {
  for (const char* folder :
       {"/sys/devices/virtual/block/zram0", "/sys/devices/virtual/block/nbd0",
        "/sys/devices/virtual/block/ram1", "/sys/devices/platform/soc/mmc0/block/mmcblk0",
        "/sys/devices/virtual/nvme-fabrics/ctl/nvme3/nvme3n1", "/sys/devices/vbd-51712/xvda"}) {
    Disks disks = with_root();
    const std::string name(std::string(folder).substr(std::string(folder).rfind('/') + 1));
    disks.block(name, folder, "250:0");
    disks.mount("250:0 / / rw - ext4 /dev/" + name + " rw");
    const auto use = disks.read();
    EXPECT_TRUE(use.unclear.empty()) << folder << ": " << use.unclear.front();
    EXPECT_EQ(user_of(use, "01:00.0"), "") << folder;
  }
}

TEST(VmStorageUse, AFileCarriesALoopDevice) {
  Disks disks = with_root();
  disks.block("loop0", "/sys/devices/virtual/block/loop0", "7:0");
  disks.files["/sys/devices/virtual/block/loop0/loop/backing_file"] = "/data/my root.img\n";
  disks.mount("7:0 / / rw - ext4 /dev/loop0 rw");
  disks.mount("259:5 / /data rw - xfs /dev/nvme1n1 rw");
  const auto use = disks.read();
  EXPECT_EQ(user_of(use, "02:00.0"), "/ essential");
  EXPECT_EQ(user_of(use, "01:00.0"), "");
  EXPECT_TRUE(use.unclear.empty());
}

TEST(VmStorageUse, EveryMemberOfAFilesystemOnSeveralDisks) {
  const std::string id = "1c8a1e9f-0000-4000-8000-000000000001";
  for (const char* source : {"/dev/nvme0n1", "/dev/root"}) {
    Disks disks = with_root();
    disks.mount(std::string("0:22 /@ / rw - btrfs ") + source + " rw,subvol=/@");
    for (const char* name : {"nvme0n1", "nvme1n1"})
      disks.files["/sys/fs/btrfs/" + id + "/devices/" + name + "/size"] = "8\n";
    const auto use = disks.read();
    EXPECT_EQ(user_of(use, "01:00.0"), "/ essential") << source;
    EXPECT_EQ(user_of(use, "02:00.0"), "/ essential") << source;
    EXPECT_TRUE(use.unclear.empty()) << source;
  }
  Disks untold = with_root();
  untold.mount("0:22 /@ / rw - btrfs /dev/nvme0n1 rw");
  EXPECT_FALSE(untold.read().unclear.empty());
  Disks bcachefs = with_root();
  bcachefs.mount("0:22 / / rw - bcachefs /dev/nvme0n1:/dev/nvme1n1 rw");
  EXPECT_EQ(user_of(bcachefs.read(), "01:00.0"), "/ essential");
  EXPECT_EQ(user_of(bcachefs.read(), "02:00.0"), "/ essential");
}

// Mounted where this process does not see it.
TEST(VmStorageUse, WhatDriversHoldUnseen) {
  for (const auto& [driver, link, below] : {std::tuple{"bcachefs", "dev-0/block", ""},
                                            {"bcache", "cache0", "/bcache"},
                                            {"bcache", "bdev0", "/bcache"}}) {
    Disks disks = with_root();
    const auto folder = disks.links["/sys/class/block/nvme1n1"].get<std::string>();
    disks.links["/sys/fs/" + std::string(driver) + "/1c8a1e9f/" + link] = folder + below;
    EXPECT_EQ(user_of(disks.read(), "02:00.0"),
              "a filesystem of " + std::string(driver) + " that is mounted");
    disks.links["/sys/fs/" + std::string(driver) + "/1c8a1e9f/" + link] =
        "/nowhere/nvme1n1" + std::string(below);
    EXPECT_EQ(user_of(disks.read(), "02:00.0"), "") << "no device";
  }
}

TEST(VmStorageUse, PartsThatLieApart) {
  Disks disks = with_root();
  disks.mount("259:0 / / rw - xfs /dev/nvme0n1 rw,logdev=/dev/nvme1n1,noquota");
  EXPECT_EQ(user_of(disks.read(), "02:00.0"), "/ essential");
}

TEST(VmStorageUse, MountsOfOtherNamespaces) {
  Disks disks = with_root();
  disks.mount("259:0 / / rw - ext4 /dev/nvme0n1 rw");
  disks.files["/sys/fs/xfs/nvme1n1/stats/stats"] = "0\n";
  EXPECT_EQ(user_of(disks.read(), "02:00.0"), "a filesystem of xfs that is mounted");
}

TEST(VmStorageUse, SwapOnADeviceAndInAFile) {
  Disks disks = with_root();
  disks.block("nvme1n1p1", std::string(kSecond) + "nvme1n1/nvme1n1p1");
  disks.files[std::string(kSecond) + "nvme1n1/nvme1n1p1/partition"] = "1\n";
  disks.mount("0:30 / / rw - overlay overlay rw");
  disks.files["/proc/swaps"] = "Filename\tType\n/dev/nvme1n1p1\tpartition\n";
  EXPECT_EQ(user_of(disks.read(), "02:00.0"), "swap essential");
  disks.files["/proc/swaps"] = "Filename\tType\n/data/swap\\040file\tfile\n";
  disks.mount("259:0 / /data rw - ext4 /dev/nvme0n1 rw");
  EXPECT_EQ(user_of(disks.read(), "01:00.0"), "/data essential");
  EXPECT_EQ(user_of(disks.read(), "02:00.0"), "");
}

TEST(VmStorageUse, APoolWithNothingMounted) {
  Disks disks = with_root();
  disks.mount("0:30 / / rw - overlay overlay rw");
  EXPECT_FALSE(disks.read().pools_unknown);
  disks.files["/proc/spl/kstat/zfs/arcstats"] = "x\n";
  EXPECT_FALSE(disks.read().pools_unknown);
  disks.files["/proc/spl/kstat/zfs/tank/state"] = "ONLINE\n";
  EXPECT_TRUE(disks.read().pools_unknown);
}

// Without an exclusive claim: exports of the kernel, and loop devices on a node of any name.
TEST(VmStorageUse, WhatIsHeldWithoutAClaim) {
  Disks disks = with_root();
  disks.mount("259:0 / / rw - ext4 /dev/nvme0n1 rw");
  disks.statuses["/tmp/own"] = {{"kind", "block_device"}, {"major", 259}, {"minor", 5}};
  const std::string kExport = "/sys/kernel/config/nvmet/subsystems/t/namespaces/1/";
  disks.files["/sys/module/nvmet/refcnt"] = "1\n";
  EXPECT_EQ(disks.read().unclear.size(), 1u) << "configfs is not mounted";
  disks.files[kExport + "device_path"] = "/tmp/own\n";
  disks.files[kExport + "enable"] = "0\n";
  EXPECT_EQ(user_of(disks.read(), "02:00.0"), "");
  EXPECT_TRUE(disks.read().unclear.empty());
  disks.files[kExport + "enable"] = "1\n";
  EXPECT_EQ(user_of(disks.read(), "02:00.0"), "nvmet exports it");
  disks.files[kExport + "device_path"] = "/elsewhere/own\n";
  EXPECT_EQ(disks.read().unclear.size(), 1u);
  disks.files[kExport + "enable"] = "0\n";
  const std::string kFile = "/sys/kernel/config/target/core/fileio_0/d/";
  disks.files["/sys/module/target_core_file/refcnt"] = "1\n";
  disks.files[kFile + "info"] =
      "Status: ACTIVATED  Max Queue Depth: 0\n"
      "        TCM FILEIO ID: 0        File: /tmp/own  Size: 16777216  Mode: O_DSYNC Async: 0\n";
  disks.files[kFile + "enable"] = "1\n";
  EXPECT_EQ(user_of(disks.read(), "02:00.0"), "target_core_file exports it");
  disks.files[kFile + "enable"] = "0\n";
  disks.block("loop0", "/sys/devices/virtual/block/loop0", "7:0");
  disks.files["/sys/devices/virtual/block/loop0/loop/backing_file"] = "/tmp/own\n";
  EXPECT_EQ(user_of(disks.read(), "02:00.0"), "loop0");
}

TEST(VmStorageUse, LayersInACircleEnd) {
  Disks disks = with_root();
  disks.block("dm-0", "/sys/devices/virtual/block/dm-0", "254:0");
  disks.block("dm-1", "/sys/devices/virtual/block/dm-1");
  disks.files["/sys/devices/virtual/block/dm-0/slaves/dm-1"] = "";
  disks.files["/sys/devices/virtual/block/dm-1/slaves/dm-0"] = "";
  disks.mount("254:0 / / rw - ext4 /dev/mapper/a rw");
  EXPECT_EQ(disks.read().unclear.size(), 1u);
}

}  // namespace
}  // namespace gpuready::vm
