// The archive format of initial RAM disks: cpio's "newc". Source: the kernel's
// Documentation/driver-api/early-userspace/buffer-format.rst.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gpuready::vm {

// File types within `mode`.
inline constexpr std::uint32_t kNewcFolder = 0040000, kNewcFile = 0100000, kNewcLink = 0120000,
                               kNewcCharacterDevice = 0020000, kNewcTypeMask = 0170000;

struct NewcEntry {
  std::string name;                                  // "usr/lib/x", without a '/' before it
  std::uint32_t mode = 0;                            // with the type
  std::uint64_t size_bytes = 0;                      // of the content: of a link, its text
  std::uint32_t device_major = 0, device_minor = 0;  // of a device node
};

// The entry's header with its name, padded; the content follows, padded by newc_padding(). Owner
// root, time 0. Error: 4 GiB or more, which the format cannot hold.
Result<std::string> newc_header(const NewcEntry& entry, std::uint32_t inode);
inline std::size_t newc_padding(std::uint64_t bytes) { return (4 - bytes % 4) % 4; }
std::string newc_end();

struct NewcFile {
  NewcEntry entry;
  std::span<const std::uint8_t> content;
};
struct NewcArchive {
  std::vector<NewcFile> files;
  std::size_t size_bytes = 0;  // with the end mark; what follows is another archive
};
Result<NewcArchive> read_newc(std::span<const std::uint8_t> bytes, std::string_view name);

}  // namespace gpuready::vm
