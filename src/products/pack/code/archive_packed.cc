// tar, cpio and single packed files, by libarchive, of which only these formats are there.
#include <archive.h>
#include <archive_entry.h>

#include <fmt/format.h>
#include <zlib.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <vector>

#include "base/text.h"
#include "pack/code/archive.h"

namespace gpuready::pack {
namespace {

constexpr std::size_t kFeedStep = 256u << 10;

// Gives a source's bytes as they stand in its window.
class Plain {
 public:
  explicit Plain(Source& source) : source_(source) {}
  Result<Bytes> next() {
    source_.skip(given_);
    const Bytes now = slice(source_.peek(kFeedStep), 0, kFeedStep);
    given_ = now.size();
    if (const auto error = source_.error(); now.empty() && error) return *error;
    return now;
  }

 private:
  Source& source_;
  std::size_t given_ = 0;  // skipped when the next are asked for
};

bool is_gzip(Source& source) {
  constexpr std::string_view kMagic = "\x1f\x8b\x08";
  return starts_with(source.peek(kMagic.size()), kMagic);
}

// The content of gzip's members, one after the other; what follows them is not a part of it. zlib
// checks the sum and the size at the end of each, which libarchive passes over.
class Gunzip {
 public:
  explicit Gunzip(Source& source) : source_(source), to_(kFeedStep) {
    constexpr int kGzipAlone = 16;
    if (inflateInit2(&stream_, MAX_WBITS + kGzipAlone) != Z_OK)
      error_ = Error{ErrorKind::too_large, "there is not enough memory to unpack it"};
  }
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;
  ~Gunzip() { inflateEnd(&stream_); }

  // What came before damage is given before its error.
  Result<Bytes> next() {
    stream_.next_out = to_.data();
    stream_.avail_out = kFeedStep;
    while (stream_.avail_out == kFeedStep && !ended_ && !error_) step();
    if (stream_.avail_out == kFeedStep && error_) return *error_;
    return Bytes(to_).first(kFeedStep - stream_.avail_out);
  }

 private:
  void step() {
    const Bytes from = slice(source_.peek(kFeedStep), 0, kFeedStep);
    if (from.empty()) {
      error_ = source_.error().value_or(Error{ErrorKind::truncated, "it is cut short"});
      return;
    }
    stream_.next_in = const_cast<std::uint8_t*>(from.data());
    stream_.avail_in = static_cast<uInt>(from.size());
    const int rc = inflate(&stream_, Z_NO_FLUSH);
    source_.skip(from.size() - stream_.avail_in);
    if (rc == Z_STREAM_END) {
      ended_ = !is_gzip(source_);
      (void)inflateReset(&stream_);
    } else if (rc != Z_OK && rc != Z_BUF_ERROR) {
      error_ = Error{ErrorKind::bad_input,
                     fmt::format("gzip finds it damaged ({}): fetch it again",
                                 stream_.msg == nullptr ? "no reason" : stream_.msg)};
    }
  }

  Source& source_;
  std::vector<std::uint8_t> to_;
  z_stream stream_ = {};
  bool ended_ = false;
  std::optional<Error> error_;
};

// What libarchive reads.
using Feed = std::function<Result<Bytes>()>;
Feed feed_of(Source& source) {
  if (is_gzip(source))
    return [gunzip = std::make_shared<Gunzip>(source)] { return gunzip->next(); };
  return [plain = std::make_shared<Plain>(source)] { return plain->next(); };
}

la_ssize_t give(archive* handle, void* user, const void** bytes) {
  const auto now = (*static_cast<Feed*>(user))();
  if (!now) {
    archive_set_error(handle, EIO, "%s", now.error().message.c_str());
    return -1;
  }
  *bytes = now->data();
  return static_cast<la_ssize_t>(now->size());
}

// To the end, where gzip says whether all was right: tar ends before it.
Result<void> read_rest(const Feed& feed) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
  for (std::uint64_t read = 0; read <= kMost;) {
    const Bytes bytes = TRY(feed());
    if (bytes.empty()) return {};
    read += bytes.size();
  }
  return fail(ErrorKind::too_large, "more than a gigabyte follows the archive's end");
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
  const bool gzip = is_gzip(source);
  Feed feed = feed_of(source);
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
  if (gzip) TRY(read_rest(feed));
  if (const auto error = source.error()) return std::unexpected(*error);
  return {};
}

}  // namespace gpuready::pack
