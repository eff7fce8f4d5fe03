#include "host/recording/tar_writer.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

namespace gpuready {
namespace {

struct UstarHeader {
  char name[100];
  char mode[8];
  char uid[8];
  char gid[8];
  char size[12];
  char mtime[12];
  char checksum[8];
  char type;
  char link[100];
  char magic[6];
  char version[2];
  char user[32];
  char group[32];
  char major[8];
  char minor[8];
  char prefix[155];
  char padding[12];
};
static_assert(sizeof(UstarHeader) == kTarBlock);

// Where to cut: the length of the prefix, 0 for none.
std::optional<std::size_t> prefix_length(std::string_view name) {
  if (name.empty()) return std::nullopt;
  if (name.size() <= sizeof(UstarHeader::name)) return 0;
  for (std::size_t at = name.find('/'); at != name.npos; at = name.find('/', at + 1))
    if (at > 0 && at <= sizeof(UstarHeader::prefix) && name.size() - at - 1 > 0 &&
        name.size() - at - 1 <= sizeof(UstarHeader::name))
      return at;
  return std::nullopt;
}

// As many digits as the field has room for, and a NUL.
template <std::size_t N>
void put_octal(char (&field)[N], std::uint64_t value) {
  field[N - 1] = '\0';
  for (std::size_t i = N - 1; i-- > 0; value >>= 3) field[i] = static_cast<char>('0' + (value & 7));
}

void put_size(char (&field)[12], std::uint64_t size) {
  if (size < std::uint64_t{1} << 33) return put_octal(field, size);
  std::memset(field, 0, sizeof field);
  field[0] = static_cast<char>(0x80);
  for (std::size_t i = 0; i < 8; ++i) field[11 - i] = static_cast<char>(size >> (8 * i));
}

}  // namespace

bool tar_name_fits(std::string_view name) { return prefix_length(name).has_value(); }

std::string tar_header(const TarEntry& entry) {
  UstarHeader header;
  std::memset(&header, 0, sizeof header);
  const std::size_t cut = prefix_length(entry.name).value_or(0);
  // Not memcpy: an empty text may have no address.
  std::ranges::copy(entry.name.substr(0, cut), header.prefix);
  std::ranges::copy(entry.name.substr(cut > 0 ? cut + 1 : 0, sizeof header.name), header.name);
  std::ranges::copy(entry.link.substr(0, sizeof header.link), header.link);
  put_octal(header.mode, entry.mode);
  put_octal(header.uid, 0);
  put_octal(header.gid, 0);
  put_size(header.size, entry.size_bytes);
  put_octal(header.mtime, 0);
  header.type = entry.type != '\0' ? entry.type : entry.link.empty() ? '0' : '2';
  std::memcpy(header.magic, "ustar", 6);
  std::memcpy(header.version, "00", 2);
  // The sum is taken with its own field full of blanks.
  std::memset(header.checksum, ' ', sizeof header.checksum);
  unsigned sum = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(&header);
  for (std::size_t i = 0; i < kTarBlock; ++i) sum += bytes[i];
  std::snprintf(header.checksum, sizeof header.checksum, "%06o", sum);
  return std::string(reinterpret_cast<const char*>(&header), sizeof header);
}

std::string tar_long_name(std::string_view name) {
  const auto size = name.size() + 1;
  std::string entry = tar_header({.name = "././@LongLink", .size_bytes = size, .type = 'L'});
  entry += name;
  entry.append(1 + tar_padding(size), '\0');
  return entry;
}

void append_tar_file(std::string& tar, std::string_view name, std::string_view content) {
  tar += tar_header({.name = name, .size_bytes = content.size()});
  tar += content;
  tar.append(tar_padding(content.size()), '\0');
}

void append_tar_end(std::string& tar) { tar.append(2 * kTarBlock, '\0'); }

}  // namespace gpuready
