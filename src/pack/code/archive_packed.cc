// tar, cpio and single packed files, by libarchive, of which only these formats are there.
#include <archive.h>
#include <archive_entry.h>

#include <cerrno>

#include "base/text.h"
#include "pack/code/archive.h"

namespace gpuready::pack {
namespace {

// Gives libarchive the source's bytes as they stand in its window.
struct Feed {
  Source& source;
  std::size_t given = 0;  // skipped when the next are asked for
};
la_ssize_t give(archive* handle, void* user, const void** bytes) {
  constexpr std::size_t kStep = 256u << 10;
  auto& feed = *static_cast<Feed*>(user);
  feed.source.skip(feed.given);
  const Bytes now = slice(feed.source.peek(kStep), 0, kStep);
  feed.given = now.size();
  if (const auto error = feed.source.error(); now.empty() && error) {
    archive_set_error(handle, EIO, "%s", error->message.c_str());
    return -1;
  }
  *bytes = now.data();
  return static_cast<la_ssize_t>(now.size());
}

struct ReadHandle {
  archive* raw = archive_read_new();
  ReadHandle() = default;
  ReadHandle(const ReadHandle&) = delete;
  ReadHandle& operator=(const ReadHandle&) = delete;
  ~ReadHandle() { archive_read_free(raw); }
};

std::string message_of(archive* handle) {
  const char* text = archive_error_string(handle);
  return text == nullptr ? "it is damaged" : printable(text);
}

// In a locale without UTF-8 libarchive gives names in one of two forms alone.
std::string text_or_empty(const char* utf8, const char* raw) {
  return utf8 != nullptr ? utf8 : raw != nullptr ? raw : "";
}

Member describe_entry(archive_entry* entry) {
  Member member;
  member.name = text_or_empty(archive_entry_pathname_utf8(entry), archive_entry_pathname(entry));
  while (member.name.starts_with("./")) member.name.erase(0, 2);
  if (archive_entry_size_is_set(entry) && archive_entry_size(entry) >= 0)
    member.size = static_cast<std::uint64_t>(archive_entry_size(entry));
  const auto type = archive_entry_filetype(entry);
  member.executable = (archive_entry_perm(entry) & 0111) != 0;
  if (archive_entry_hardlink(entry) != nullptr || type == AE_IFLNK) {
    member.kind = Member::Kind::link;
    member.symbolic_link =
        text_or_empty(archive_entry_symlink_utf8(entry), archive_entry_symlink(entry));
    member.hard_link =
        text_or_empty(archive_entry_hardlink_utf8(entry), archive_entry_hardlink(entry));
  } else if (type == AE_IFDIR) {
    member.kind = Member::Kind::folder;
  } else if (type != AE_IFREG) {
    member.kind = Member::Kind::device;
  }
  return member;
}

}  // namespace

Result<void> read_packed(Source& source, const ArchiveReading& reading) {
  Feed feed{source};
  const ReadHandle owner;
  archive* handle = owner.raw;
  for (const auto add : {archive_read_support_filter_gzip, archive_read_support_filter_xz,
                         archive_read_support_filter_zstd, archive_read_support_filter_rpm,
                         archive_read_support_format_tar, archive_read_support_format_cpio,
                         archive_read_support_format_raw, archive_read_support_format_empty})
    (void)add(handle);
  if (archive_read_open(handle, &feed, nullptr, give, nullptr) != ARCHIVE_OK)
    return fail(ErrorKind::bad_input, message_of(handle));
  while (true) {
    archive_entry* entry = nullptr;
    const int rc = archive_read_next_header(handle, &entry);
    if (rc == ARCHIVE_EOF) break;
    if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
      return fail(ErrorKind::bad_input, message_of(handle));
    Member member = describe_entry(entry);
    if (archive_format(handle) == ARCHIVE_FORMAT_RAW) {
      const auto name = reading.name.substr(reading.name.find_last_of("/!") + 1);
      const auto dot = name.rfind('.');
      member.name = dot == name.npos || dot == 0 ? "content" : name.substr(0, dot);
      member.size = {};
    }
    bool damaged = false;
    const StreamSource::Read read = [&](std::span<std::uint8_t> to) -> Result<std::size_t> {
      if (to.empty() || damaged) return 0;
      const auto got = archive_read_data(handle, to.data(), to.size());
      damaged = got < 0;
      if (damaged) return fail(ErrorKind::bad_input, message_of(handle));
      return static_cast<std::size_t>(got);
    };
    TRY(reading.on_member(member, read));
    if (damaged) return fail(ErrorKind::bad_input, "the rest cannot be read");
  }
  if (const auto error = source.error()) return std::unexpected(*error);
  return {};
}

}  // namespace gpuready::pack
