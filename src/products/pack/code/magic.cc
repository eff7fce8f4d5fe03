#include "pack/code/magic.h"

#include <array>

namespace gpuready::pack {
namespace {

constexpr std::array<std::array<std::uint8_t, kMagicBytes>, 7> kMagics = {{
    {0x50, 0xed, 0x55, 0xba},
    {0x28, 0xb5, 0x2f, 0xfd},
    {0x7f, 'E', 'L', 'F'},
    {'_', '_', 'C', 'L'},
    {'C', 'C', 'O', 'B'},
    {'.', 'v', 'e', 'r'},
    {0xed, 0x43, 0x4e, 0x7f},
}};

// 16 bytes, which every processor that we run on compares at once.
typedef std::uint8_t Vector __attribute__((vector_size(16)));
constexpr std::size_t kStep = 4 * sizeof(Vector);

Vector at(const std::uint8_t* bytes) {
  Vector value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// Of each magic the two neighbours that are rarest in libraries and their symbols.
template <std::size_t... I>
Vector pairs(const std::uint8_t* bytes, std::index_sequence<I...>) {
  constexpr std::array<std::size_t, 7> kPair = {0, 2, 0, 2, 2, 0, 0};
  const std::array<Vector, 4> shifted = {at(bytes), at(bytes + 1), at(bytes + 2), at(bytes + 3)};
  return (... | ((Vector)(shifted[kPair[I]] == kMagics[I][kPair[I]]) &
                 (Vector)(shifted[kPair[I] + 1] == kMagics[I][kPair[I] + 1])));
}

bool any_pair(const std::uint8_t* bytes) {
  constexpr auto kAll = std::make_index_sequence<kMagics.size()>();
  const Vector hits = pairs(bytes, kAll) | pairs(bytes + 16, kAll) | pairs(bytes + 32, kAll) |
                      pairs(bytes + 48, kAll);
  std::array<std::uint64_t, 2> words;
  std::memcpy(&words, &hits, sizeof words);
  return (words[0] | words[1]) != 0;
}

std::optional<Magic> magic_at(const std::uint8_t* bytes) {
  for (std::size_t i = 0; i < kMagics.size(); ++i)
    if (std::memcmp(bytes, kMagics[i].data(), kMagicBytes) == 0) return static_cast<Magic>(i);
  return std::nullopt;
}

}  // namespace

std::optional<MagicFound> find_magic(Bytes bytes, std::size_t from) {
  for (std::size_t i = from; i + kMagicBytes <= bytes.size();) {
    std::size_t stop = i + kStep;
    if (stop + kMagicBytes > bytes.size()) {
      stop = bytes.size() - kMagicBytes + 1;
    } else if (!any_pair(bytes.data() + i)) {
      i = stop;
      continue;
    }
    for (; i < stop; ++i)
      if (const auto magic = magic_at(bytes.data() + i)) return MagicFound{i, *magic};
  }
  return std::nullopt;
}

}  // namespace gpuready::pack
