// Small text functions shared by every parser. All are total: they never throw and accept any
// bytes.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuready {

std::string_view trim(std::string_view text);  // strips ASCII white space and NUL at both ends
bool equals_ignore_case(std::string_view a, std::string_view b);
bool contains(std::string_view text, std::string_view part);
std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);
std::string capitalized(std::string text);  // its first letter
std::string join(const std::vector<std::string>& parts, std::string_view separator);
// Splits at any character of `separators`; empty pieces are dropped.
std::vector<std::string_view> split(std::string_view text, std::string_view separators);
template <std::same_as<std::string> T>
std::vector<std::string_view> split(T&& temporary,
                                    std::string_view) = delete;  // pieces of it would dangle
// Splits into lines; the last needs no newline; a trailing '\r' is dropped.
std::vector<std::string_view> lines(std::string_view text);
template <std::same_as<std::string> T>
std::vector<std::string_view> lines(T&& temporary) = delete;
// The text after `prefix`, or nothing when it does not start so.
std::optional<std::string_view> after_prefix(std::string_view text, std::string_view prefix);

// Whole-string number parsing after trim(): trailing characters, overflow or emptiness give
// nothing.
std::optional<std::int64_t> parse_int(std::string_view text);
std::optional<std::uint64_t> parse_uint(std::string_view text, int base = 10);
std::optional<std::uint64_t> parse_hex(std::string_view text);  // with or without 0x
std::optional<double> parse_double(std::string_view text);      // finite values only

// Replaces bytes that are not printable ASCII or valid UTF-8, and all control characters but '\n'
// and
// '\t', by '?', so that hostile input cannot drive a terminal or break JSON.
std::string printable(std::string_view text);
std::string shell_quoted(std::string_view text);  // 'text', which a shell reads as one word

// Dotted version numbers such as "580.159.04" or "12.4". Compared number by number, so 580.9 <
// 580.65.
struct Version {
  std::vector<int> parts;
  auto operator<=>(const Version&) const = default;
  int major() const { return parts.empty() ? 0 : parts[0]; }
};
std::optional<Version> parse_version(std::string_view text);  // digits and dots only
// The first dotted number (at least one dot) found anywhere in the text.
std::optional<std::string> find_version(std::string_view text);

}  // namespace gpuready
