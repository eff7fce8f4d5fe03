#include "vm/drivers/fetch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/paths.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/units.h"
#include "host/atomic_file.h"
#include "host/mapped_file.h"

namespace gpuready::vm {
namespace {

// The largest installer of NVIDIA's is half a gigabyte.
constexpr std::uint64_t kMostArchiveBytes = 8 * GiB;
constexpr std::size_t kMostLicenceBytes = 1 * MiB, kMostLicences = 64;

bool is_licence(std::string_view path) {
  const auto name = base_name(path);
  if (name == "copyright") return contains(path, "usr/share/doc/");
  return name == "LICENSE" || name == "LICENSE.txt" || name == "COPYING";
}

}  // namespace

Result<std::string> parse_sha256(std::string_view text) {
  const auto trimmed = trim(text);
  auto digits = to_lower(after_prefix(trimmed, "sha256:").value_or(trimmed));
  if (!is_sha256(digits))
    return fail(ErrorKind::bad_input,
                fmt::format("\"{}\" is not a SHA-256: expected 64 hexadecimal digits, as the "
                            "file's publisher states them",
                            printable(text.substr(0, 100))));
  return digits;
}

Result<std::uint64_t> write_verified(const ByteSource& source, const std::string& sha256,
                                     const std::string& path, Storage& storage) {
  auto file = TRY(AtomicFile::create(path, {.on_existing = OnExisting::fail}, storage));
  Sha256Stream hash;
  std::uint64_t total = 0;
  TRY(source([&](std::string_view bytes) -> Result<void> {
    total += bytes.size();
    if (total > kMostArchiveBytes)
      return fail(ErrorKind::too_large, fmt::format("{}: more than {} came; no driver is so large",
                                                    path, format_bytes(kMostArchiveBytes)));
    hash.add(bytes);
    return file.write(bytes);
  }));
  const auto got = to_hex(hash.finish());
  if (got != sha256)
    return fail(ErrorKind::bad_input,
                fmt::format("{}: not written, because the {} that came have the SHA-256 {}, and {} "
                            "was given",
                            path, format_bytes(total), got, sha256));
  TRY(file.commit());
  return total;
}

Result<bool> has_bytes(Storage& storage, const std::string& path, const std::string& sha256) {
  const auto status = storage.status(path);
  if (!status && status.error().kind == ErrorKind::not_found) return false;
  if (!status) return std::unexpected(status.error());
  if (status->kind != FileKind::regular)
    return fail(ErrorKind::bad_input, path + " exists and is not a file; name another with -o");
  const auto mapped = TRY(MappedFile::open(path));
  if (to_hex(gpuready::sha256(mapped.bytes())) == sha256) return true;
  return fail(ErrorKind::bad_input,
              path + " exists and has another SHA-256; remove it, or name another file with -o");
}

Result<std::vector<Licence>> read_licences(ArchiveBytes file, std::string_view name) {
  std::vector<Licence> found;
  std::size_t total = 0;
  const ArchiveSink sink{.wants =
                             [&](std::string_view path) {
                               return is_licence(path) && found.size() < kMostLicences &&
                                      total < kMostLicenceBytes;
                             },
                         .begin = [&](std::string_view path) -> Result<void> {
                           found.push_back({printable(path), ""});
                           return {};
                         },
                         .piece = [&](std::string_view bytes) -> Result<void> {
                           const auto taken = bytes.substr(0, kMostLicenceBytes - total);
                           found.back().text += taken;
                           total += taken.size();
                           return {};
                         },
                         .end = []() -> Result<void> { return {}; }};
  TRY(read_driver_archive(file, name, sink));
  for (auto& licence : found) licence.text = printable(licence.text);
  std::ranges::sort(found, {}, &Licence::path);
  return found;
}

Result<FetchedDriver> look_at_driver(const std::string& path, const std::string& sha256) {
  const auto mapped = TRY(MappedFile::open(path));
  FetchedDriver driver{.path = path,
                       .size_bytes = mapped.bytes().size(),
                       .sha256 = sha256,
                       .licences = {},
                       .problem = {}};
  if (auto licences = read_licences(mapped.bytes(), path))
    driver.licences = std::move(*licences);
  else
    driver.problem = licences.error().message;
  return driver;
}

}  // namespace gpuready::vm
