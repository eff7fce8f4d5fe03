// Little-endian numbers out of bytes that anybody may have written: every read is checked.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace gpuready {

static_assert(std::endian::native == std::endian::little, "files are read as they are");

using Bytes = std::span<const std::uint8_t>;

// The number at `offset`, or nothing where the bytes end before.
template <class T>
  requires std::is_trivially_copyable_v<T>
std::optional<T> load(Bytes bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// As much of [offset, offset + size) as is there.
inline Bytes slice(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset >= bytes.size()) return {};
  return bytes.subspan(offset, std::min<std::uint64_t>(size, bytes.size() - offset));
}
// The same, or nothing where it is not there whole.
inline Bytes whole_slice(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
  const Bytes part = slice(bytes, offset, size);
  return part.size() == size ? part : Bytes();
}

inline Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
inline std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
// The text up to the first NUL, which must be there.
inline std::optional<std::string_view> c_string(Bytes bytes, std::uint64_t offset) {
  const std::string_view rest = text_of(slice(bytes, offset, bytes.size()));
  const auto end = rest.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  return rest.substr(0, end);
}
inline bool starts_with(Bytes bytes, std::string_view magic) {
  return text_of(bytes).starts_with(magic);
}

}  // namespace gpuready
