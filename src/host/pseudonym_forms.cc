#include "host/pseudonym_forms.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace gpuready {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

std::size_t radix_of(char c, Form form) {
  if (form == Form::hexadecimal) return is_hex(c) ? 16 : 1;
  if (is_digit(c)) return 10;
  return is_alnum(c) ? 26 : 1;
}

char digit_of(char original, std::size_t value, Form form) {
  if (form == Form::hexadecimal) {
    const char c = kHexDigits[value];
    return original >= 'A' && original <= 'F' && c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  if (is_digit(original)) return static_cast<char>('0' + value);
  const char first = original >= 'a' ? 'a' : 'A';
  return static_cast<char>(first + value);
}

// Each part keeps its number of digits, so that columns stay columns: 1, 10 or 100 and up.
std::string same_ipv4(std::string_view original, std::uint64_t counter) {
  auto parts = split(original, ".");
  std::array<unsigned, 4> numbers{};
  for (std::size_t i = parts.size(); i-- > 0;) {
    const unsigned low = parts[i].size() == 1 ? 0 : parts[i].size() == 2 ? 10 : 100;
    const unsigned room = parts[i].size() == 1 ? 10 : parts[i].size() == 2 ? 90 : 100;
    if (i == 0) {
      numbers[0] = low + std::min(room - 1, 1u);  // 1, 11 or 101
      break;
    }
    numbers[i] = low + static_cast<unsigned>(counter % room);
    counter /= room;
  }
  std::string out;
  for (std::size_t i = 0; i < parts.size() && i < numbers.size(); ++i) {
    if (i > 0) out += '.';
    out += std::to_string(numbers[i]);
  }
  return out;
}

bool keeps_nobody(std::string_view hex) {  // all zeros or all ones
  const auto digits = hex_digits(hex);
  return digits.find_first_not_of('0') == digits.npos ||
         digits.find_first_not_of('f') == digits.npos;
}

std::size_t run_length(std::string_view text, std::string_view allowed) {
  const auto end = text.find_first_not_of(allowed);
  return end == text.npos ? text.size() : end;
}

// "aa:bb:cc:dd:ee:ff", also with dashes, or an InfiniBand address of twenty pairs.
bool is_pairs(std::string_view token) {
  if (token.size() < 17 || (token.size() + 1) % 3 != 0) return false;
  for (std::size_t i = 0; i < token.size(); ++i)
    if (i % 3 == 2 ? token[i] != token[2] : !is_hex(token[i])) return false;
  return !is_hex(token[2]);
}

// "0011:2233:4455:6677"
bool is_guid(std::string_view token) {
  if (token.size() != 19) return false;
  for (std::size_t i = 0; i < token.size(); ++i)
    if (i % 5 == 4 ? token[i] != ':' : !is_hex(token[i])) return false;
  return true;
}

bool is_private_ipv6(std::string_view token) {
  if (std::count(token.begin(), token.end(), ':') < 2 || token.size() > 45) return false;
  in6_addr bytes{};
  const std::string text(token);
  if (inet_pton(AF_INET6, text.c_str(), &bytes) != 1) return false;
  // The unspecified address ("::", also "0::" as cgroup v2 begins its lines) and loopback are no
  // secrets.
  return token.find_first_not_of("0:") != token.npos && token != "::1";
}

// Drivers, firmware and libraries have versions of four numbers too. Only the word right before
// decides: "version 12.4.1.2", "libcudart.so.12.4.1.2". A network that is nobody's version is none
// even in a name such as "node-10.0.0.5".
bool reads_as_version(std::string_view text, std::size_t at) {
  auto before = text.substr(at > 32 ? at - 32 : 0, std::min<std::size_t>(at, 32));
  if (before.ends_with(".so.")) return true;
  if (!before.empty() && contains("vV", before.substr(before.size() - 1))) return true;
  const auto network = text.substr(at, 8);
  const bool is_private =
      network.starts_with("10.") || network.starts_with("192.168.") || network.starts_with("172.");
  if (!before.empty() && contains(".-_+~", before.substr(before.size() - 1))) return !is_private;
  while (!before.empty() && contains(" :=\t\"", before.substr(before.size() - 1)))
    before.remove_suffix(1);
  const auto lower = to_lower(before);
  for (const std::string_view word : {"version", "release", "firmware", "vbios", "video bios"})
    if (lower.ends_with(word)) return true;
  return false;
}

bool is_private_ipv4(std::string_view token) {
  const auto parts = split(token, ".");
  if (parts.size() != 4 || std::count(token.begin(), token.end(), '.') != 3) return false;
  for (const auto part : parts) {
    const auto number = parse_uint(part);
    if (!number || *number > 255 || (part.size() > 1 && part[0] == '0')) return false;
  }
  return parts[0] != "127" && parts[0] != "0" && parts[0] != "255";
}

}  // namespace

Form form_of_kind(char kind) {
  if (kind == kMacKind || kind == kGuidKind || kind == kIpv6Kind || kind == kHexKind)
    return Form::hexadecimal;
  return kind == kIpv4Kind ? Form::ipv4 : Form::word;
}

std::string same_form(std::string_view original, std::uint64_t counter, Form form) {
  if (form == Form::ipv4) return same_ipv4(original, counter);
  std::string out(original);
  for (std::size_t i = out.size(); i-- > 0;) {
    const auto radix = radix_of(out[i], form);
    if (radix == 1) continue;
    out[i] = digit_of(out[i], counter % radix, form);
    counter /= radix;
  }
  const bool decimal = std::all_of(original.begin(), original.end(), is_digit);
  if (form == Form::word && decimal && !out.empty() && out[0] == '0') out[0] = '1';
  // Locally administered, as made-up MAC addresses have to be; and no IPv6 group that is reserved.
  if (form == Form::hexadecimal && is_pairs(original)) out[1] = '2';
  if (form == Form::hexadecimal && !is_pairs(original) && out[0] == '0') out[0] = 'd';
  return out;
}

std::size_t uuid_length(std::string_view text, bool dashed) {
  const std::size_t length = dashed ? 36 : 32;
  if (text.size() < length) return 0;
  for (std::size_t i = 0; i < length; ++i) {
    const bool dash = dashed && (i == 8 || i == 13 || i == 18 || i == 23);
    if (dash ? text[i] != '-' && text[i] != '_' : !is_hex(text[i])) return 0;
  }
  return length;
}

std::string hex_digits(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (is_hex(c)) out += c;
  return to_lower(out);
}

std::string with_digits(std::string_view text, std::string_view digits) {
  std::string out(text);
  const bool upper =
      std::any_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'F'; });
  std::size_t next = 0;
  for (char& c : out) {
    if (!is_hex(c) || next >= digits.size()) continue;
    c = digits[next++];
    if (upper && c >= 'a') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

Address address_at(std::string_view text, std::size_t at) {
  const auto rest = text.substr(at, 80);
  const auto ends = [&](std::size_t length) {
    return at + length >= text.size() || !is_alnum(text[at + length]);
  };
  // A full stop at the end of a sentence belongs to no address, nor does the colon before a text.
  const auto colons = run_length(rest, "0123456789abcdefABCDEF:");
  auto token = rest.substr(0, colons);
  while (token.size() > 2 && token.back() == ':' && token[token.size() - 2] != ':')
    token.remove_suffix(1);
  if (colons < 80 && ends(colons) && (at == 0 || text[at - 1] != ':')) {
    if (is_pairs(token)) return {keeps_nobody(token) ? 0 : token.size(), kMacKind};
    if (is_guid(token)) return {keeps_nobody(token) ? 0 : token.size(), kGuidKind};
    if (is_private_ipv6(token)) return {token.size(), kIpv6Kind};
  }
  const auto dashed = rest.substr(0, run_length(rest, "0123456789abcdefABCDEF-"));
  if (dashed.size() == 17 && ends(17) && is_pairs(dashed))
    return {keeps_nobody(dashed) ? 0 : dashed.size(), kMacKind};
  if (!is_digit(rest[0])) return {};
  auto dotted = rest.substr(0, run_length(rest, "0123456789."));
  while (!dotted.empty() && dotted.back() == '.') dotted.remove_suffix(1);
  if (ends(dotted.size()) && is_private_ipv4(dotted) && !reads_as_version(text, at))
    return {dotted.size(), kIpv4Kind};
  return {};
}

}  // namespace gpuready
