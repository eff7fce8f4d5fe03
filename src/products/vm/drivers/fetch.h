// Getting a driver's archive from where its maker publishes it, and the licence that is in it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/storage.h"
#include "vm/drivers/driver_archive.h"

namespace gpuready::vm {

// A text under which a driver may be used, as its archive has it.
struct Licence {
  std::string path;  // in the archive
  std::string text;
};

struct FetchedDriver {
  std::string path;
  std::uint64_t size_bytes = 0;
  std::string sha256;
  bool was_there = false;  // with these bytes: nothing was fetched
  std::vector<Licence> licences;
  std::string problem;  // why it is not an archive that a bundle can be made of; empty: it is one
};

// Hands all bytes to `sink`, in order, and ends with its error.
using ByteSink = std::function<Result<void>(std::string_view bytes)>;
using ByteSource = std::function<Result<void>(const ByteSink& sink)>;

// 64 hexadecimal digits, in lower case; a "sha256:" before them is left out.
Result<std::string> parse_sha256(std::string_view text);

// Writes what comes from `source` to the new file `path`, whole or not at all. bad_input where its
// SHA-256 is not `sha256`; EEXIST where `path` is taken.
Result<std::uint64_t> write_verified(const ByteSource& source, const std::string& sha256,
                                     const std::string& path, Storage& storage);

// Whether `path` has these bytes already. False: it does not exist. An error: it has others.
Result<bool> has_bytes(Storage& storage, const std::string& path, const std::string& sha256);

// The licences in an archive of a driver: LICENSE and COPYING of installers, `copyright` of Debian
// packages. An error says why it is no such archive.
Result<std::vector<Licence>> read_licences(ArchiveBytes file, std::string_view name);

// What is known of a file that is there.
Result<FetchedDriver> look_at_driver(const std::string& path, const std::string& sha256);

}  // namespace gpuready::vm
