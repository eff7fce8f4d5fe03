// The archives in which drivers come: Debian packages, NVIDIA's self-extracting installers (read,
// never executed), and tar archives, packed by xz, zstd or gzip.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gpuready::vm {

using ArchiveBytes = std::span<const std::uint8_t>;

// Where the tar archive (packed or not) begins and ends; an error that says why there is none.
// Debian package: its data.tar.*. Installer: what follows the script, whose `skip=N` is the number
// of the payload's first line.
Result<ArchiveBytes> find_payload(ArchiveBytes file, std::string_view name);

// Whether a file that begins so is one of these archives.
bool is_driver_archive(ArchiveBytes start);

struct ArchiveSink {
  // Whether this file is wanted; `path` is relative and stays below where it is put.
  std::function<bool(std::string_view path)> wants;
  std::function<Result<void>(std::string_view path)> begin;
  std::function<Result<void>(std::string_view bytes)> piece;
  std::function<Result<void>()> end;
};

struct ArchiveLimits {
  std::uint64_t unpacked_bytes = std::uint64_t{8} << 30;
  std::size_t entries = 200'000;
};

// Reads all entries and hands the regular files that are wanted to the sink. Links, devices and
// folders are passed over, so nothing is ever written through them. Names that are absolute or lead
// out of the archive are an error, as is an archive that is cut short.
Result<void> read_driver_archive(ArchiveBytes file, std::string_view name, const ArchiveSink& sink,
                                 const ArchiveLimits& limits = {});

// The bytes of a kernel module that is packed by itself (.ko.xz, .ko.zst, .ko.gz).
Result<std::string> unpack_single(ArchiveBytes file, std::string_view name,
                                  std::uint64_t limit_bytes);

}  // namespace gpuready::vm
