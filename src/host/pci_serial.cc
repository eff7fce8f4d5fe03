#include "host/pci_serial.h"

#include <cstddef>

namespace gpuready {
namespace {

constexpr std::size_t kExtendedStart = 0x100;
constexpr std::uint32_t kSerialCapability = 0x0003;

std::uint32_t dword(std::string_view config, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(config[at + i]);
  return value;
}

// Where the eight bytes stand; 0 when there are none. The list may be cut short or run in a circle.
std::size_t find_serial(std::string_view config) {
  std::size_t at = kExtendedStart;
  for (int hops = 0; hops < 256 && at >= kExtendedStart && at + 12 <= config.size(); ++hops) {
    const auto header = dword(config, at);
    if ((header & 0xffff) == kSerialCapability) return at + 4;
    at = header >> 20 & 0xffc;
  }
  return 0;
}

}  // namespace

std::optional<std::uint64_t> pci_serial(std::string_view config) {
  const auto at = find_serial(config);
  if (at == 0) return std::nullopt;
  return std::uint64_t{dword(config, at + 4)} << 32 | dword(config, at);
}

void set_pci_serial(std::string& config, std::uint64_t serial) {
  const auto at = find_serial(config);
  if (at == 0) return;
  for (std::size_t i = 0; i < 8; ++i) config[at + i] = static_cast<char>(serial >> (8 * i) & 255);
}

}  // namespace gpuready
