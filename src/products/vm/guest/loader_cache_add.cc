#include "vm/guest/loader_cache_add.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace gpuready::vm {
namespace {

constexpr std::string_view kMagic = "glibc-ld.so.cache1.1", kOldMagic = "ld.so-1.7.0";
constexpr std::size_t kHeaderBytes = 48, kEntryBytes = 24, kOldHeaderBytes = 16,
                      kOldEntryBytes = 12;
constexpr std::size_t kCountAt = 20, kStringsAt = 24, kExtensionsAt = 32;
constexpr std::uint32_t kExtensionMagic = 0xEAA42174, kProcessorNames = 1;
constexpr std::uint32_t kMaxEntries = 100'000;
constexpr std::uint32_t kElfLibc6 = 0x0003, kX86_64 = 0x0300, kAarch64 = 0x0A00;

bool digit(char c) { return c >= '0' && c <= '9'; }

class Cache {
 public:
  explicit Cache(std::string_view bytes) : bytes_(bytes) {}
  std::size_t size() const { return bytes_.size(); }
  std::uint32_t at(std::size_t offset) const {
    std::uint32_t value = 0;
    if (offset <= bytes_.size() && bytes_.size() - offset >= sizeof value)
      std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  void set(std::size_t offset, std::uint32_t value) {
    if (offset <= bytes_.size() && bytes_.size() - offset >= sizeof value)
      std::memcpy(bytes_.data() + offset, &value, sizeof value);
  }
  void shift(std::size_t offset, std::uint32_t by) {
    if (at(offset) != 0) set(offset, at(offset) + by);
  }
  std::string_view text(std::uint32_t offset) const {
    const std::string_view all = bytes_;
    if (offset >= all.size()) return {};
    const auto rest = all.substr(offset);
    return rest.substr(0, rest.find('\0'));
  }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

// The part in the new format; an older one may stand before it.
std::string_view new_format(std::string_view cache) {
  if (cache.starts_with(kOldMagic) && cache.size() >= kOldHeaderBytes) {
    std::uint32_t count = 0;
    std::memcpy(&count, cache.data() + kOldHeaderBytes - sizeof count, sizeof count);
    const std::size_t at = (kOldHeaderBytes + std::size_t{count} * kOldEntryBytes + 7) / 8 * 8;
    if (count <= kMaxEntries && at <= cache.size()) cache.remove_prefix(at);
  }
  return cache;
}

// Every offset that a cache holds grows by what was put into its table of entries.
Result<void> shift_offsets(Cache& cache, std::uint32_t count, std::uint32_t by) {
  for (std::uint32_t i = 0; i < count; ++i) {
    cache.shift(kHeaderBytes + i * kEntryBytes + 4, by);
    cache.shift(kHeaderBytes + i * kEntryBytes + 8, by);
  }
  const std::size_t extensions = cache.at(kExtensionsAt);
  if (extensions == 0) return {};
  if (cache.at(extensions) != kExtensionMagic)
    return fail(ErrorKind::bad_input, "the loader cache has extensions of an unknown form");
  const auto sections = cache.at(extensions + 4);
  if (sections > 64) return fail(ErrorKind::bad_input, "the loader cache has too many extensions");
  for (std::uint32_t i = 0; i < sections; ++i) {
    const std::size_t section = extensions + 8 + i * 16;
    const std::size_t at = cache.at(section + 8), bytes = cache.at(section + 12);
    if (at > cache.size() || bytes > cache.size() - at)
      return fail(ErrorKind::bad_input, "the loader cache has an extension outside of it");
    if (cache.at(section) == kProcessorNames)
      for (std::size_t name = at; name + 4 <= at + bytes; name += 4) cache.shift(name, by);
    cache.shift(section + 8, by);
  }
  cache.shift(kExtensionsAt, by);
  return {};
}

}  // namespace

int compare_cached_names(std::string_view a, std::string_view b) {
  std::size_t i = 0, k = 0;
  while (i < a.size()) {
    const char right = k < b.size() ? b[k] : '\0';
    if (digit(a[i]) && digit(right)) {
      std::uint64_t x = 0, y = 0;
      while (i < a.size() && digit(a[i])) x = x * 10 + static_cast<std::uint64_t>(a[i++] - '0');
      while (k < b.size() && digit(b[k])) y = y * 10 + static_cast<std::uint64_t>(b[k++] - '0');
      if (x != y) return x < y ? -1 : 1;
    } else if (digit(a[i])) {
      return 1;
    } else if (digit(right)) {
      return -1;
    } else if (a[i] != right) {
      return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(right) ? -1 : 1;
    } else {
      ++i, ++k;
    }
  }
  return k < b.size() ? -1 : 0;
}

Result<std::string> add_to_loader_cache(std::string_view old,
                                        const std::vector<CachedLibrary>& libraries,
                                        std::string_view machine) {
  Cache cache(new_format(old));
  const auto count = cache.at(kCountAt);
  if (!cache.bytes().starts_with(kMagic) || count > kMaxEntries ||
      cache.size() < kHeaderBytes + count * kEntryBytes)
    return fail(ErrorKind::bad_input, "not a loader cache of a known format");
  const auto added = static_cast<std::uint32_t>(libraries.size());
  const auto by = static_cast<std::uint32_t>(added * kEntryBytes);
  const auto old_count = count;
  TRY(shift_offsets(cache, old_count, by));
  // Strings of ours go to the end, where the loader finds them as well.
  struct Entry {
    std::string_view name;
    std::string bytes;
  };
  std::vector<Entry> table;
  std::string strings;
  const auto strings_at = static_cast<std::uint32_t>(cache.size() + by);
  const auto put_text = [&](const std::string& text) {
    const auto at = strings_at + static_cast<std::uint32_t>(strings.size());
    strings += text + '\0';
    return at;
  };
  for (const auto& library : libraries) {
    const std::uint32_t words[] = {kElfLibc6 | (machine == "aarch64" ? kAarch64 : kX86_64),
                                   put_text(library.name),
                                   put_text(library.path),
                                   0,
                                   0,
                                   0};
    table.push_back(
        {library.name, std::string(reinterpret_cast<const char*>(words), sizeof words)});
  }
  for (std::uint32_t i = 0; i < old_count; ++i) {
    const auto at = kHeaderBytes + i * kEntryBytes;
    const auto name = cache.at(at + 4) >= by ? cache.at(at + 4) - by : 0;
    table.push_back({cache.text(name), cache.bytes().substr(at, kEntryBytes)});
  }
  std::stable_sort(table.begin(), table.end(), [](const Entry& a, const Entry& b) {
    return compare_cached_names(a.name, b.name) > 0;
  });
  cache.set(kCountAt, old_count + added);
  cache.set(kStringsAt, cache.at(kStringsAt) + static_cast<std::uint32_t>(strings.size()));
  std::string out = cache.bytes().substr(0, kHeaderBytes);
  for (const auto& entry : table) out += entry.bytes;
  out += cache.bytes().substr(kHeaderBytes + old_count * kEntryBytes);
  return out + strings;
}

}  // namespace gpuready::vm
