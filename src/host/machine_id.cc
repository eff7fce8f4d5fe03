#include "host/machine_id.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/sha256.h"
#include "base/text.h"

namespace gpuready {
namespace {

using Id = std::array<std::uint8_t, 16>;

// Ours, made at random once. Another key would give every machine another name.
constexpr Id kApplication = {0x6b, 0x1d, 0x93, 0x5a, 0x2e, 0xc4, 0x4f, 0x07,
                             0x9a, 0x71, 0xd8, 0x30, 0xbf, 0x46, 0x15, 0xe2};

std::optional<Id> id_from(std::string_view text) {
  std::string digits;
  for (const char c : trim(text))
    if (c != '-') digits += c;
  Id id{};
  if (digits.size() != 2 * id.size()) return std::nullopt;
  for (std::size_t i = 0; i < id.size(); ++i) {
    const char* at = digits.data() + 2 * i;
    const auto [end, error] = std::from_chars(at, at + 2, id[i], 16);
    if (error != std::errc() || end != at + 2) return std::nullopt;
  }
  return id;
}

std::string text_of(const Id& id) {
  std::string text;
  for (const auto byte : id) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

std::optional<std::string> app_specific_id(std::string_view machine_id_text) {
  const auto secret = id_from(machine_id_text);
  if (!secret || std::ranges::all_of(*secret, [](auto byte) { return byte == 0; }))
    return std::nullopt;
  const auto hash = hmac_sha256(*secret, kApplication);
  Id id{};
  std::copy_n(hash.begin(), id.size(), id.begin());
  id[6] = (id[6] & 0x0F) | 0x40;  // a random UUID by its form
  id[8] = (id[8] & 0x3F) | 0x80;
  return text_of(id);
}

std::optional<std::string> machine_id(Host& host) {
  const auto text = host.read_text("/etc/machine-id");
  return text ? app_specific_id(*text) : std::nullopt;
}

std::optional<std::string> boot_id(Host& host) {
  const auto text = host.read_text("/proc/sys/kernel/random/boot_id");
  const auto id = text ? id_from(*text) : std::nullopt;
  return id ? std::optional(text_of(*id)) : std::nullopt;
}

}  // namespace gpuready
