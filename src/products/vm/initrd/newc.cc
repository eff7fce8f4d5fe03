#include "vm/initrd/newc.h"

#include <fmt/format.h>

#include "base/text.h"

namespace gpuready::vm {
namespace {

constexpr std::string_view kMagic = "070701", kEnd = "TRAILER!!!";
constexpr std::size_t kHeaderBytes = 110, kFieldBytes = 8, kNameMaxBytes = 4096;
enum Field { inode, mode, uid, gid, links, time, size, major, minor, node_major, node_minor, name };

}  // namespace

Result<std::string> newc_header(const NewcEntry& entry, std::uint32_t number) {
  if (entry.size_bytes > UINT32_MAX)
    return fail(ErrorKind::too_large, entry.name + ": an initrd holds only files below 4 GiB");
  const bool folder = (entry.mode & kNewcTypeMask) == kNewcFolder;
  std::string out = fmt::format(
      "{}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}", kMagic,
      number, entry.mode, 0, 0, folder ? 2 : 1, 0, entry.size_bytes, 0, 0, entry.device_major,
      entry.device_minor, entry.name.size() + 1, 0);
  out += entry.name;
  out += '\0';
  out.append(newc_padding(out.size()), '\0');
  return out;
}

std::string newc_end() { return *newc_header({std::string(kEnd), 0, 0, 0, 0}, 0); }

Result<NewcArchive> read_newc(std::span<const std::uint8_t> bytes, std::string_view archive) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  NewcArchive found;
  for (std::size_t at = 0;;) {
    const auto bad = [&](std::string_view what) {
      return fail(ErrorKind::bad_input, fmt::format("{}: {} at byte {}", archive, what, at));
    };
    if (text.size() - at < kHeaderBytes || !text.substr(at).starts_with(kMagic))
      return bad("no header of a newc archive");
    std::uint64_t fields[13];
    for (std::size_t i = 0; i < 13; ++i) {
      const auto digits = text.substr(at + kMagic.size() + i * kFieldBytes, kFieldBytes);
      const auto value = parse_uint(digits, 16);
      if (!value || trim(digits).size() != kFieldBytes) return bad("a header that is not a number");
      fields[i] = *value;
    }
    const auto name_bytes = fields[name], content_bytes = fields[size];
    const auto content_at =
        at + kHeaderBytes + name_bytes + newc_padding(kHeaderBytes + name_bytes);
    if (name_bytes == 0 || name_bytes > kNameMaxBytes || content_at > text.size() ||
        content_bytes > text.size() - content_at)
      return bad("an entry that is cut short");
    const auto entry_name = text.substr(at + kHeaderBytes, name_bytes - 1);
    if (text[at + kHeaderBytes + name_bytes - 1] != '\0' ||
        entry_name.find('\0') != entry_name.npos)
      return bad("a name without its end");
    if (entry_name == kEnd) {
      found.size_bytes = content_at;
      return found;
    }
    found.files.push_back({{std::string(entry_name), static_cast<std::uint32_t>(fields[mode]),
                            content_bytes, static_cast<std::uint32_t>(fields[node_major]),
                            static_cast<std::uint32_t>(fields[node_minor])},
                           bytes.subspan(content_at, content_bytes)});
    at = content_at + content_bytes + newc_padding(content_bytes);
    if (at > text.size()) return bad("padding that is cut short");
  }
}

}  // namespace gpuready::vm
