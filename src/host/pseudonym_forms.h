// The forms that secrets have in text, and substitutes of the same form. Used by pseudonyms.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuready {

// Kinds of secret; each counts its substitutes for itself.
inline constexpr char kSerialKind = 's', kHostKind = 'h', kUserKind = 'u', kUuidKind = 'i',
                      kMacKind = 'm', kGuidKind = 'g', kIpv4Kind = '4', kIpv6Kind = '6',
                      kHexKind = 'x', kTokenKind = 't', kPathKind = 'p', kProcessKind = 'c';

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
inline bool is_alnum(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

enum class Form { word, hexadecimal, ipv4 };
Form form_of_kind(char kind);
// `counter` written into the shape of `original`: same length, same separators, digits for digits,
// letters for letters. A decimal number keeps a first digit that is not 0.
std::string same_form(std::string_view original, std::uint64_t counter, Form form);

// The length of a UUID at the start of `text`, with dashes or underscores (36) or without (32); 0
// when none is.
std::size_t uuid_length(std::string_view text, bool dashed);
std::string hex_digits(std::string_view text);  // its hex digits alone, in lower case
// `text` with its hex digits replaced one by one by those of `digits`, in the case it is written
// in.
std::string with_digits(std::string_view text, std::string_view digits);

struct Address {
  std::size_t length = 0;  // 0: none here
  char kind = 0;
};
// A MAC, InfiniBand GUID or IP address that starts at `at`, unless it is one that identifies nobody
// (loopback, unspecified, broadcast, netmask) or reads as a version number.
Address address_at(std::string_view text, std::size_t at);

}  // namespace gpuready
