// SHA-256 (FIPS 180-4) and HMAC with it (RFC 2104). Uses the CPU's SHA instructions where it has
// them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gpuready {

using Sha256 = std::array<std::uint8_t, 32>;
Sha256 sha256(std::span<const std::uint8_t> bytes);
Sha256 sha256(std::string_view text);
Sha256 hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::uint8_t> bytes);

// The same of bytes that come piece by piece.
class Sha256Stream {
 public:
  // `portable`: without the CPU's SHA instructions, for tests.
  explicit Sha256Stream(bool portable = false) : portable_(portable) {}
  void add(std::span<const std::uint8_t> bytes);
  void add(std::string_view text) {
    add({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  }
  Sha256 finish();  // once

 private:
  static constexpr std::size_t kBlockBytes = 64;
  void add_blocks(const std::uint8_t* blocks, std::size_t count);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, kBlockBytes> partial_{};
  std::uint64_t length_ = 0;
  bool portable_ = false;
};

// 64 hexadecimal digits in lower case, and whether a text is such.
std::string to_hex(const Sha256& hash);
bool is_sha256(std::string_view hex);

}  // namespace gpuready
