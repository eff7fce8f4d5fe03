// SHA-256 (FIPS 180-4) and HMAC with it (RFC 2104).
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace gpuready {

using Sha256 = std::array<std::uint8_t, 32>;
Sha256 sha256(std::span<const std::uint8_t> bytes);
Sha256 hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::uint8_t> bytes);

}  // namespace gpuready
