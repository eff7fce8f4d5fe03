// FILE.tar.zst. Reading is libarchive's, with only tar and zstd enabled, all in memory, and every
// limit of recording.h enforced while unpacking, because a recording comes from elsewhere.
#include <archive.h>
#include <archive_entry.h>
#include <zstd.h>

#include "base/text.h"
#include "base/units.h"
#include "host/atomic_file.h"
#include "host/recording/recording_archive.h"
#include "host/recording/recording_codec.h"
#include "host/recording/tar_writer.h"

namespace gpuready {
namespace {

constexpr std::string_view kIndexName = "recording.json";
constexpr std::size_t kEntryNameMaxBytes = 4096;
constexpr int kZstdLevel =
    9;  // some ten milliseconds for a megabyte; reading costs the same at any

std::unexpected<Error> bad(std::string_view name, std::string_view what) {
  return fail(ErrorKind::bad_input, std::string(name) + ": " + std::string(what));
}

std::string archive_message(archive* handle) {
  const char* text = archive_error_string(handle);
  return text == nullptr ? "unknown error" : printable(text);
}

struct ReadHandle {
  archive* raw = archive_read_new();
  ~ReadHandle() { archive_read_free(raw); }
};
// What is wrong with an entry's name; empty when nothing is.
std::string_view name_fault(std::string_view name) {
  if (name.empty()) return "an entry without a name";
  if (name.size() > kEntryNameMaxBytes) return "an entry with an overlong name";
  if (name.front() == '/') return "an absolute name";
  for (const auto part : split(name, "/"))
    if (part == "..") return "a name that leads out of the archive";
  return {};
}

class Unpacker {
 public:
  explicit Unpacker(std::string_view name) : name_(name) {}

  Result<ArchiveEntries> unpack(std::string_view bytes) {
    archive* handle = handle_.raw;
    archive_read_support_filter_zstd(handle);
    archive_read_support_format_tar(handle);
    if (archive_read_open_memory(handle, bytes.data(), bytes.size()) != ARCHIVE_OK)
      return bad(name_, "not a tar archive packed by zstd: " + archive_message(handle));
    std::size_t count = 0;
    while (true) {
      archive_entry* entry = nullptr;
      const int rc = archive_read_next_header(handle, &entry);
      if (rc == ARCHIVE_EOF) break;
      if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
        return bad(name_, "damaged or cut short after " + std::to_string(count) +
                              " entries: " + archive_message(handle));
      if (++count > kRecordingMaxEntries)
        return fail(ErrorKind::too_large, name_ + ": more than the limit of " +
                                              std::to_string(kRecordingMaxEntries) + " entries");
      TRY(take(entry));
    }
    return std::move(entries_);
  }

 private:
  Result<void> take(archive_entry* entry) {
    const char* raw_name = archive_entry_pathname(entry);
    std::string name = raw_name == nullptr ? "" : raw_name;
    while (name.starts_with("./")) name.erase(0, 2);
    const auto type = archive_entry_filetype(entry);
    if (type == AE_IFDIR && archive_entry_size(entry) == 0) return {};  // as `tar` itself packs
    const auto refuse = [&](std::string_view what) {
      return bad(name_, "refused: " + std::string(what) + " (\"" +
                            printable(std::string_view(name).substr(0, 200)) + "\")");
    };
    if (const auto fault = name_fault(name); !fault.empty()) return refuse(fault);
    if (archive_entry_hardlink(entry) != nullptr || type == AE_IFLNK) return refuse("a link");
    if (type != AE_IFREG) return refuse("an entry that is not a regular file");
    if (archive_entry_size_is_set(entry) && !fits(archive_entry_size(entry))) return too_large();
    auto [at, added] = entries_.try_emplace(name);
    if (!added) return refuse("an entry that stands there twice");
    return read_into(at->second, refuse);
  }

  template <class Refuse>
  Result<void> read_into(std::string& content, const Refuse& refuse) {
    char buffer[64 << 10];
    while (true) {
      const la_ssize_t size = archive_read_data(handle_.raw, buffer, sizeof buffer);
      if (size == 0) return {};
      if (size < 0) return refuse("cut short or damaged: " + archive_message(handle_.raw));
      if (!fits(size)) return too_large();
      content.append(buffer, static_cast<std::size_t>(size));
      total_ += static_cast<std::size_t>(size);
    }
  }

  bool fits(std::int64_t more) const {
    return more >= 0 && static_cast<std::uint64_t>(more) <= kRecordingMaxBytes - total_;
  }
  std::unexpected<Error> too_large() const {
    return fail(ErrorKind::too_large,
                name_ + ": unpacks to more than the limit of " + format_bytes(kRecordingMaxBytes));
  }

  std::string name_;
  ReadHandle handle_;
  ArchiveEntries entries_;
  std::size_t total_ = 0;
};

}  // namespace

Result<void> check_schema(const Json& doc, std::string_view name, std::string_view schema) {
  if (!doc.is_object() || get_string(doc, "schema") != schema)
    return bad(name, "its \"schema\" is not \"" + std::string(schema) + "\"");
  const auto version = get_int(doc, "schema_version");
  if (!version || *version < 1) return bad(name, "\"schema_version\" is absent or no number");
  if (*version > Recording::kSchemaVersion)
    return bad(name,
               "schema_version " + std::to_string(*version) + " is newer than this program (" +
                   std::to_string(Recording::kSchemaVersion) + "): read it with a newer gpuready");
  return {};
}

Result<Recording> recording_from_archive(std::string_view bytes, std::string_view name) {
  auto entries = Unpacker(name).unpack(bytes);
  if (!entries) return std::unexpected(entries.error());
  const auto index = entries->find(kIndexName);
  if (index == entries->end())
    return bad(name, "holds no recording.json, so it was not written by `gpuready record`");
  const std::string index_name = std::string(name) + ": recording.json";
  const auto doc = TRY(parse_json(index->second, index_name));
  TRY(check_schema(doc, index_name, kRecordingSchema));
  auto recording =
      recording_from_json(doc, index_name, [&](std::string_view entry) -> const std::string* {
        const auto found = entries->find(entry);
        return found == entries->end() ? nullptr : &found->second;
      });
  if (!recording) return recording;
  // "files/..." entries are sorted as their paths are, so each goes to the end of what is there.
  for (auto& [entry, content] : *entries) {
    if (!entry.starts_with("files/")) continue;
    const auto path = entry.substr(kFilesPrefix.size());
    if (!recording->files.emplace(path, std::move(content)).second)
      return bad(index_name, "files[\"" + printable(path) + "\"] is in the archive too");
  }
  return recording;
}

Result<std::string> recording_to_archive(const Recording& recording) {
  ArchiveEntries entries;
  const std::string index = dump(recording_to_json(recording, entries));
  std::string tar;
  append_tar_file(tar, kIndexName, index);
  for (const auto& [name, content] : entries) append_tar_file(tar, name, content);
  append_tar_end(tar);
  if (tar.size() > kRecordingMaxBytes)
    return fail(ErrorKind::too_large,
                "the recording holds more than the limit of " + format_bytes(kRecordingMaxBytes));
  std::string packed(ZSTD_compressBound(tar.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), tar.data(), tar.size(), kZstdLevel);
  if (ZSTD_isError(size) != 0)
    return fail(ErrorKind::io,
                std::string("cannot pack the recording: ") + ZSTD_getErrorName(size));
  packed.resize(size);
  return packed;
}

Result<void> save_recording(const Recording& recording, const std::string& path, Storage& storage) {
  const auto packed = TRY(recording_to_archive(recording));
  return write_file_atomically(path, packed, {.private_to_user = true}, storage);
}

}  // namespace gpuready
