#include "machine/system/loader_cache.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace gpuready {
namespace {

constexpr std::string_view kNewMagic = "glibc-ld.so.cache1.1";
constexpr std::string_view kOldMagic = "ld.so-1.7.0";
constexpr std::size_t kNewHeaderBytes = 48, kNewEntryBytes = 24;
constexpr std::size_t kOldHeaderBytes = 16, kOldEntryBytes = 12;
constexpr std::size_t kMaxEntries = 100'000;
constexpr std::size_t kCacheMaxBytes = 8u << 20;

// The part of an entry's flags that tells the machine's kind: glibc's ldconfig.h.
constexpr std::uint32_t kAbiMask = 0xFF00;
constexpr std::uint32_t kAbiX86_64 = 0x0300, kAbiAarch64 = 0x0A00, kAbiPower64 = 0x0500;

std::optional<std::uint32_t> u32_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  if (at > bytes.size() || bytes.size() - at < sizeof value) return std::nullopt;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// The text at `at` up to its NUL; nothing when it has none.
std::optional<std::string_view> string_at(std::string_view bytes, std::uint32_t at) {
  if (at >= bytes.size()) return std::nullopt;
  const auto end = bytes.find('\0', at);
  if (end == std::string_view::npos || end == at) return std::nullopt;
  return bytes.substr(at, end - at);
}

// Where the new format begins: at the start, or after the old one, on a multiple of eight.
std::optional<std::size_t> start_of_new_format(std::string_view bytes) {
  if (bytes.starts_with(kNewMagic)) return 0;
  if (!bytes.starts_with(kOldMagic)) return std::nullopt;
  const auto count = u32_at(bytes, kOldHeaderBytes - sizeof(std::uint32_t));
  if (!count || *count > kMaxEntries) return std::nullopt;
  const std::size_t start = (kOldHeaderBytes + *count * kOldEntryBytes + 7) / 8 * 8;
  if (start > bytes.size() || !bytes.substr(start).starts_with(kNewMagic)) return std::nullopt;
  return start;
}

bool is_64_bit(std::uint32_t flags) {
  const auto abi = flags & kAbiMask;
  return abi == kAbiX86_64 || abi == kAbiAarch64 || abi == kAbiPower64;
}

std::vector<std::string> folders_of(const std::optional<std::string>& list) {
  std::vector<std::string> out;
  if (!list) return out;
  for (const auto folder : split(*list, ":;")) out.emplace_back(folder);
  return out;
}

// The folders of /etc/ld.so.conf and what it includes, one level deep as distributions have it.
std::vector<std::string> configured_folders(Host& host) {
  std::vector<std::string> out;
  const auto add = [&](std::string_view text) {
    for (auto line : lines(text)) {
      line = trim(line.substr(0, line.find('#')));
      if (line.starts_with('/')) out.emplace_back(line);
    }
  };
  if (const auto main = host.read_file("/etc/ld.so.conf")) add(*main);
  const std::string folder = "/etc/ld.so.conf.d";
  if (const auto names = host.list_directory(folder))
    for (const auto& name : *names)
      if (name.ends_with(".conf"))
        if (const auto text = host.read_file(folder + "/" + name)) add(*text);
  return out;
}

}  // namespace

Result<std::vector<LoaderCacheEntry>> parse_loader_cache(std::string_view bytes) {
  const auto start = start_of_new_format(bytes);
  if (!start) return fail(ErrorKind::bad_input, "not a loader cache of a known format");
  bytes.remove_prefix(*start);
  const auto count = u32_at(bytes, kNewMagic.size());
  if (!count || *count > kMaxEntries || bytes.size() < kNewHeaderBytes ||
      (bytes.size() - kNewHeaderBytes) / kNewEntryBytes < *count)
    return fail(ErrorKind::bad_input, "the loader cache is cut short");
  std::vector<LoaderCacheEntry> entries;
  for (std::size_t i = 0; i < *count; ++i) {
    const std::size_t at = kNewHeaderBytes + i * kNewEntryBytes;
    const auto name = string_at(bytes, *u32_at(bytes, at + 4));
    const auto path = string_at(bytes, *u32_at(bytes, at + 8));
    if (name && path) entries.push_back({*name, *path, *u32_at(bytes, at)});
  }
  return entries;
}

std::string make_loader_cache(const std::vector<LoaderCacheEntry>& entries) {
  std::string strings, out(kNewMagic);
  const auto put = [&out](std::uint32_t value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const std::size_t strings_at = kNewHeaderBytes + entries.size() * kNewEntryBytes;
  const auto put_text = [&](std::string_view text) {
    put(static_cast<std::uint32_t>(strings_at + strings.size()));
    strings.append(text).push_back('\0');
  };
  put(static_cast<std::uint32_t>(entries.size()));
  std::size_t strings_bytes = 0;
  for (const auto& entry : entries) strings_bytes += entry.name.size() + entry.path.size() + 2;
  put(static_cast<std::uint32_t>(strings_bytes));
  out.resize(kNewHeaderBytes, '\0');
  for (const auto& entry : entries) {
    put(entry.flags);
    put_text(entry.name);
    put_text(entry.path);
    out.append(kNewEntryBytes - 3 * sizeof(std::uint32_t), '\0');  // OS version, hardware
  }
  return out + strings;
}

LibrarySearch::LibrarySearch(Host& host)
    : host_(host),
      first_folders_(folders_of(host.environment("LD_LIBRARY_PATH"))),
      cache_bytes_(host.read_file("/etc/ld.so.cache", kCacheMaxBytes)) {
  auto parsed =
      cache_bytes_ ? parse_loader_cache(*cache_bytes_) : std::unexpected(cache_bytes_.error());
  if (parsed)
    cache_ = std::move(*parsed);
  else
    last_folders_ = configured_folders(host);
  for (const char* folder :
       {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"})
    last_folders_.emplace_back(folder);
}

std::optional<std::string> LibrarySearch::find(const std::string& name) {
  const auto in = [&](const std::vector<std::string>& folders) -> std::optional<std::string> {
    for (const auto& folder : folders)
      if (auto path = folder + "/" + name; host_.exists(path)) return path;
    return std::nullopt;
  };
  if (auto path = in(first_folders_)) return path;
  for (const auto& entry : cache_)
    if (entry.name == name && is_64_bit(entry.flags))
      if (std::string path(entry.path); host_.exists(path)) return path;
  return in(last_folders_);
}

}  // namespace gpuready
