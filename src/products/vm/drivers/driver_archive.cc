#include "vm/drivers/driver_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "vm/drivers/bundle.h"

namespace gpuready::vm {
namespace {

constexpr std::string_view kArMagic = "!<arch>\n";
constexpr std::size_t kArHeaderBytes = 60, kTarMagicAt = 257;
// The script of an installer is some ten kilobytes.
constexpr std::size_t kScriptMaxBytes = 1 * MiB;

std::string_view text_of(ArchiveBytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::unexpected<Error> bad(std::string_view name, std::string_view what) {
  return fail(ErrorKind::bad_input, fmt::format("{}: {}", name, what));
}

// How packed and plain tar archives begin.
bool begins_as_payload(std::string_view text) {
  using namespace std::string_view_literals;
  for (const auto magic : {"\xFD"
                           "7zXZ\0"sv,
                           "\x28\xB5\x2F\xFD"sv, "\x1F\x8B\x08"sv, "\x5D\0\0"sv})
    if (text.starts_with(magic)) return true;
  return text.size() > kTarMagicAt && text.substr(kTarMagicAt).starts_with("ustar");
}

// A Debian package is an `ar` archive: headers of 60 bytes, members padded to even sizes (deb(5)).
Result<ArchiveBytes> payload_of_package(ArchiveBytes file, std::string_view name) {
  for (std::size_t at = kArMagic.size(); at + kArHeaderBytes <= file.size();) {
    const auto header = text_of(file.subspan(at, kArHeaderBytes));
    const auto size = parse_uint(header.substr(48, 10));
    at += kArHeaderBytes;
    if (!header.ends_with("`\n") || !size || *size > file.size() - at)
      return bad(name, "a Debian package that is damaged or cut short");
    if (trim(header.substr(0, 16)).starts_with("data.tar")) return file.subspan(at, *size);
    at += *size + *size % 2;
  }
  return bad(name, "a Debian package without data");
}

// The start of line `number`, counted from 1.
std::optional<std::size_t> start_of_line(std::string_view text, std::uint64_t number) {
  std::size_t at = 0;
  for (std::uint64_t line = 1; line < number; ++line) {
    at = text.find('\n', at);
    if (at == text.npos) return std::nullopt;
    ++at;
  }
  return at;
}

Result<ArchiveBytes> payload_of_installer(ArchiveBytes file, std::string_view name) {
  const auto text = text_of(file).substr(0, kScriptMaxBytes);
  constexpr std::string_view kSkip = "\nskip=";
  if (const auto at = text.find(kSkip); at != text.npos) {
    auto value = text.substr(at + kSkip.size());
    value = trim(value.substr(0, value.find('\n')));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    if (const auto line = parse_uint(value))
      if (const auto start = start_of_line(text, *line);
          start && begins_as_payload(text_of(file).substr(*start)))
        return file.subspan(*start);
  }
  // Other scripts find it in other ways: it begins with a line.
  for (auto at = text.find('\n'); at != text.npos; at = text.find('\n', at + 1))
    if (begins_as_payload(text_of(file).substr(at + 1))) return file.subspan(at + 1);
  return bad(name, "a script that no archive follows; an installer NVIDIA-Linux-*.run has one");
}

struct ReadHandle {
  archive* raw = archive_read_new();
  ~ReadHandle() { archive_read_free(raw); }
};

std::string message_of(archive* handle) {
  const char* text = archive_error_string(handle);
  return text == nullptr ? "unknown error" : printable(text);
}

void support_filters(archive* handle) {
  archive_read_support_filter_zstd(handle);
  archive_read_support_filter_xz(handle);
  archive_read_support_filter_lzma(handle);
  archive_read_support_filter_gzip(handle);
}

class ArchiveReader {
 public:
  ArchiveReader(std::string_view name, const ArchiveSink& sink, const ArchiveLimits& limits)
      : name_(name), sink_(sink), limits_(limits) {}

  Result<void> read(ArchiveBytes payload) {
    archive* handle = handle_.raw;
    support_filters(handle);
    archive_read_support_format_tar(handle);
    if (archive_read_open_memory(handle, payload.data(), payload.size()) != ARCHIVE_OK)
      return bad(name_,
                 "holds no tar archive that is packed by xz, zstd or gzip: " + message_of(handle));
    for (std::size_t count = 0;; ++count) {
      archive_entry* entry = nullptr;
      const int rc = archive_read_next_header(handle, &entry);
      if (rc == ARCHIVE_EOF) {
        if (count == 0) return bad(name_, "an archive without entries");
        return {};
      }
      if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
        return bad(name_, "damaged or cut short, get it again: " + message_of(handle));
      if (count == limits_.entries)
        return fail(ErrorKind::too_large, fmt::format("{}: more than {} entries", name_, count));
      TRY(take(entry));
    }
  }

 private:
  Result<void> take(archive_entry* entry) {
    const char* raw = archive_entry_pathname(entry);
    std::string_view path = raw == nullptr ? "" : raw;
    while (path.starts_with("./")) path.remove_prefix(2);
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) != nullptr)
      return {};
    if (!is_safe_relative(path))
      return bad(name_, fmt::format("refused: \"{}\" leads out of the archive",
                                    printable(path.substr(0, 200))));
    if (!sink_.wants(path)) return {};
    if (has_control_characters(path))
      return bad(name_, fmt::format("refused: the name of \"{}\" has control characters",
                                    printable(path.substr(0, 200))));
    if (!seen_.emplace(path).second)
      return bad(name_, fmt::format("holds {} twice, so which one is meant is not clear: unpack it "
                                    "and collect from the folder",
                                    printable(path.substr(0, 200))));
    TRY(sink_.begin(path));
    while (true) {
      const la_ssize_t size = archive_read_data(handle_.raw, buffer_.data(), buffer_.size());
      if (size == 0) return sink_.end();
      if (size < 0)
        return bad(name_, "damaged or cut short, get it again: " + message_of(handle_.raw));
      total_ += static_cast<std::uint64_t>(size);
      if (total_ > limits_.unpacked_bytes)
        return fail(ErrorKind::too_large, fmt::format("{}: unpacks to more than {}", name_,
                                                      format_bytes(limits_.unpacked_bytes)));
      TRY(sink_.piece({buffer_.data(), static_cast<std::size_t>(size)}));
    }
  }

  std::string_view name_;
  const ArchiveSink& sink_;
  const ArchiveLimits& limits_;
  ReadHandle handle_;
  std::set<std::string> seen_;
  std::uint64_t total_ = 0;
  std::vector<char> buffer_ = std::vector<char>(1 * MiB);
};

}  // namespace

bool is_driver_archive(ArchiveBytes start) {
  const auto text = text_of(start);
  return text.starts_with(kArMagic) || text.starts_with("#!") || begins_as_payload(text);
}

Result<ArchiveBytes> find_payload(ArchiveBytes file, std::string_view name) {
  const auto text = text_of(file);
  if (text.starts_with(kArMagic)) return payload_of_package(file, name);
  if (text.starts_with("#!")) return payload_of_installer(file, name);
  if (begins_as_payload(text)) return file;
  return bad(name, "neither a Debian package nor an NVIDIA installer nor a tar archive");
}

Result<void> read_driver_archive(ArchiveBytes file, std::string_view name, const ArchiveSink& sink,
                                 const ArchiveLimits& limits) {
  return ArchiveReader(name, sink, limits).read(TRY(find_payload(file, name)));
}

Result<std::string> unpack_single(ArchiveBytes file, std::string_view name,
                                  std::uint64_t limit_bytes) {
  ReadHandle handle;
  support_filters(handle.raw);
  archive_read_support_format_raw(handle.raw);
  archive_entry* entry = nullptr;
  if (archive_read_open_memory(handle.raw, file.data(), file.size()) != ARCHIVE_OK ||
      archive_read_next_header(handle.raw, &entry) != ARCHIVE_OK)
    return bad(name, "cannot be unpacked: " + message_of(handle.raw));
  std::string out;
  std::vector<char> buffer(256 * KiB);
  while (true) {
    const la_ssize_t size = archive_read_data(handle.raw, buffer.data(), buffer.size());
    if (size == 0) return out;
    if (size < 0) return bad(name, "damaged or cut short: " + message_of(handle.raw));
    if (out.size() + static_cast<std::size_t>(size) > limit_bytes)
      return fail(ErrorKind::too_large,
                  fmt::format("{}: unpacks to more than {}", name, format_bytes(limit_bytes)));
    out.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

}  // namespace gpuready::vm
