#include "gpuready/machine.h"

#include <array>
#include <charconv>

#include "base/text.h"

namespace gpuready {
namespace {
// One field of an address: one to `digits` hex digits and nothing else.
std::optional<std::uint32_t> field(std::string_view text, std::size_t digits, std::uint32_t max) {
  if (text.size() > digits) return std::nullopt;
  std::uint32_t value = 0;
  const auto end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  if (error != std::errc() || stop != end || value > max) return std::nullopt;
  return value;
}

// By hand: a kernel log may have an address in each of its lines.
char* put_hex(char* out, std::uint32_t value, int digits) {
  constexpr int kMost = 8;
  while (digits < kMost && value >> 4 * digits != 0) ++digits;
  while (digits-- > 0) *out++ = "0123456789abcdef"[value >> 4 * digits & 15];
  return out;
}
}  // namespace

std::string PciAddress::text() const {
  std::array<char, 24> out;
  char* end = put_hex(out.data(), domain, 4);
  *end++ = ':';
  end = put_hex(end, bus, 2);
  *end++ = ':';
  end = put_hex(end, device, 2);
  *end++ = '.';
  return {out.data(), put_hex(end, function, 1)};
}

std::optional<PciAddress> v0::parse_pci_address(std::string_view text) {
  text = trim(text);
  const auto dot = text.rfind('.');
  if (dot == text.npos) return std::nullopt;
  const auto function = field(text.substr(dot + 1), 1, 7);
  text = text.substr(0, dot);
  const auto last = text.rfind(':');
  if (last == text.npos) return std::nullopt;
  const auto device = field(text.substr(last + 1), 2, 31);
  text = text.substr(0, last);
  std::optional<std::uint32_t> domain = 0;
  if (const auto first = text.find(':'); first != text.npos) {
    domain = field(text.substr(0, first), 8, 0xffffffff);
    text = text.substr(first + 1);
  }
  const auto bus = field(text, 2, 255);
  if (!function || !device || !bus || !domain) return std::nullopt;
  return PciAddress{*domain, static_cast<std::uint8_t>(*bus), static_cast<std::uint8_t>(*device),
                    static_cast<std::uint8_t>(*function)};
}

const Gpu* Machine::find_gpu(const PciAddress& address) const {
  for (const auto& gpu : gpus)
    if (gpu.pci == address) return &gpu;
  return nullptr;
}

const Gpu* Machine::find_gpu_by_uuid(std::string_view uuid) const {
  for (const auto& gpu : gpus)
    if (gpu.uuid && equals_ignore_case(*gpu.uuid, uuid)) return &gpu;
  return nullptr;
}

}  // namespace gpuready
