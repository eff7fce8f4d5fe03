#include "pack/code/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "http/http_answer.h"

namespace gpuready::pack {
namespace {

using namespace std::string_view_literals;

struct Magic {
  std::string_view bytes;
  ArchiveKind kind;
};
constexpr Magic kMagics[] = {
    {"PK\3\4"sv, ArchiveKind::zip},
    {"PK\5\6"sv, ArchiveKind::zip},  // without members
    {"\x1f\x8b\x08"sv, ArchiveKind::packed},
    {"\xfd"
     "7zXZ\0"sv,
     ArchiveKind::packed},
    {"\x28\xb5\x2f\xfd"sv, ArchiveKind::packed},
    {"\xed\xab\xee\xdb"sv, ArchiveKind::packed},  // rpm
    {"070701"sv, ArchiveKind::packed},            // cpio
    {"!<arch>\ndebian-binary"sv, ArchiveKind::deb},
    {"BZh"sv, ArchiveKind::unread},
    {"7z\xbc\xaf\x27\x1c"sv, ArchiveKind::unread},
    {"Rar!\x1a\x07"sv, ArchiveKind::unread},
};

// Octal digits of the sum of a tar header's bytes, its own eight counted as spaces.
bool is_tar_header(Bytes head) {
  constexpr std::size_t kSumAt = 148, kSumBytes = 8;
  if (head.size() < kArchiveHead) return false;
  std::uint32_t sum = 0, said = 0;
  for (std::size_t i = 0; i < kArchiveHead; ++i) sum += i - kSumAt < kSumBytes ? ' ' : head[i];
  for (std::size_t i = 0; i < kSumBytes; ++i) {
    const char c = static_cast<char>(head[kSumAt + i]);
    if (c >= '0' && c <= '7')
      said = said * 8 + static_cast<std::uint32_t>(c - '0');
    else if (c != ' ')
      break;
  }
  return said != 0 && said == sum && head[0] != 0;
}

constexpr std::string_view kNames[] = {".whl",  ".zip", ".conda", ".tar", ".tgz",  ".txz",
                                       ".tzst", ".gz",  ".xz",    ".zst", ".deb",  ".rpm",
                                       ".jar",  ".egg", ".bz2",   ".7z",  ".nupkg"};

std::string_view name_of(std::string_view path) { return path.substr(path.find_last_of("/!") + 1); }
bool ends_as_archive(std::string_view path) {
  return std::ranges::any_of(kNames,
                             [&](std::string_view end) { return name_of(path).ends_with(end); });
}

}  // namespace

std::optional<ArchiveKind> archive_kind(Bytes head) {
  for (const Magic& magic : kMagics)
    if (starts_with(head, magic.bytes)) return magic.kind;
  if (is_tar_header(head)) return ArchiveKind::packed;
  return std::nullopt;
}

bool is_archive_name(std::string_view path) {
  return name_of(path).find('.') == std::string_view::npos || ends_as_archive(path);
}

std::string not_an_archive(std::string_view path, Bytes head) {
  if (!ends_as_archive(path) || archive_kind(head)) return {};
  if (name_of(path).ends_with(".tar") && head.size() == kArchiveHead &&
      std::ranges::all_of(head, [](std::uint8_t byte) { return byte == 0; }))
    return {};
  const std::string_view what = head.empty()                 ? "it is empty"
                                : is_web_page(text_of(head)) ? "it is a web page"
                                                             : "it does not begin as one";
  return fmt::format("it has the name of an archive, and {}: fetch it again", what);
}

Result<void> read_archive(Source& source, ArchiveKind kind, const ArchiveReading& reading) {
  switch (kind) {
    case ArchiveKind::zip:
      return read_zip(source, reading);
    case ArchiveKind::packed:
      return read_packed(source, reading);
    case ArchiveKind::deb:
      return read_deb(source, reading);
    default:
      return fail(ErrorKind::unsupported,
                  "bzip2, 7-Zip and RAR are not read: unpack it, and inspect the folder");
  }
}

// ar: after the magic, members of a header of 60 characters each, padded to an even size.
Result<void> read_deb(Source& source, const ArchiveReading& reading) {
  constexpr std::size_t kHeaderBytes = 60, kSizeAt = 48, kSizeBytes = 10;
  source.skip(std::string_view("!<arch>\n").size());
  while (true) {
    const std::string header(text_of(slice(source.peek(kHeaderBytes), 0, kHeaderBytes)));
    if (header.empty()) return {};
    const auto size = header.size() < kHeaderBytes
                          ? std::nullopt
                          : parse_uint(trim(header.substr(kSizeAt, kSizeBytes)));
    if (!size || header.substr(kHeaderBytes - 2) != "`\n")
      return fail(ErrorKind::bad_input, "it is damaged or cut short");
    source.skip(kHeaderBytes);
    std::string name(trim(header.substr(0, 16)));
    if (name.ends_with('/')) name.pop_back();
    std::uint64_t left = *size;
    const StreamSource::Read read = [&](std::span<std::uint8_t> to) -> Result<std::size_t> {
      if (left == 0 || to.empty()) return 0;
      const Bytes bytes = source.peek(1);
      if (bytes.empty()) return fail(ErrorKind::truncated, "the archive is cut short");
      const auto take = std::min({to.size(), bytes.size(), static_cast<std::size_t>(left)});
      std::copy_n(bytes.begin(), take, to.begin());
      source.skip(take);
      left -= take;
      return take;
    };
    TRY(reading.on_member({.name = name, .kind = Member::Kind::file, .size = *size}, read));
    source.skip(left + *size % 2);
  }
}

}  // namespace gpuready::pack
