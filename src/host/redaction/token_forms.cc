#include "host/redaction/token_forms.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace gpuready {
namespace {

constexpr std::size_t kMostDigits = 5;      // six and more may be a serial number or an account
constexpr std::size_t kMostHexDigits = 11;  // a MAC address has twelve

template <class Is>
bool all(std::string_view word, Is is) {
  return !word.empty() && std::all_of(word.begin(), word.end(), is);
}
bool is_hex_of(std::string_view word, std::size_t digits) {
  return word.size() == digits && all(word, is_hex);
}
bool is_few_digits(std::string_view word) { return word.size() <= kMostDigits && is_decimal(word); }

bool is_short_hex(std::string_view word) {
  const auto digits = after_prefix(word, "0x");
  return digits && digits->size() <= kMostHexDigits && all(*digits, is_hex);
}

// "80GB", "120ms": a number and a unit.
bool has_unit(std::string_view word) {
  const auto unit = word.find_first_not_of("0123456789");
  return unit != word.npos && is_few_digits(word.substr(0, unit)) && word.size() - unit <= 3 &&
         all(word.substr(unit), is_letter);
}

std::string_view without_prefix(std::string_view address) {
  for (const std::string_view prefix : {"+pci:", "PCI:", "pci:", "pci"})
    if (const auto rest = after_prefix(address, prefix)) return *rest;
  return address;
}

}  // namespace

bool is_decimal(std::string_view word) { return all(word, is_digit); }

bool is_pci_form(std::string_view word) {
  const bool is_bus = word.starts_with("pci");
  const auto address = without_prefix(word);
  const auto parts = split(address, ":");
  if (parts.size() < 2 || parts.size() > 3 || address.back() == ':') return false;
  const auto domain = parts.size() == 3 || is_bus ? parts.front() : std::string_view();
  if (!domain.empty() && (domain.size() < 4 || domain.size() > 8 || !all(domain, is_hex)))
    return false;
  if (domain.size() + 1 + parts.back().size() == address.size() && !domain.empty())
    return is_hex_of(parts.back(), 2);  // "pci0000:16"
  if (!is_hex_of(parts[parts.size() - 2], 2)) return false;
  // A device of a bus has five bits, its function three.
  const auto device = parts.back();
  const bool plain = !domain.empty() && is_hex_of(device, 2);
  const bool function = device.size() == 4 && device[2] == '.' && is_hex(device[0]) &&
                        is_hex(device[1]) && device[3] >= '0' && device[3] <= '7';
  return (plain || function) && device[0] <= '1';
}

bool is_full_address(std::string_view word) {
  return is_pci_form(word) && std::ranges::count(without_prefix(word), ':') == 2;
}

std::uint64_t domain_of(std::string_view address) {
  const auto rest = without_prefix(address);
  return parse_uint(rest.substr(0, rest.find(':')), 16).value_or(0);
}

bool is_small_form(std::string_view word) {
  constexpr std::size_t kSmallDigits = 2, kMostParts = 3;
  if (word.starts_with('-')) word.remove_prefix(1);
  const auto parts = split(word, ".");
  if (parts.size() == 1) return word.size() <= kSmallDigits + 1 && is_decimal(word);
  return parts.size() <= kMostParts && !word.ends_with('.') &&
         std::ranges::all_of(
             parts, [](auto part) { return part.size() <= kSmallDigits && is_decimal(part); });
}

bool is_version_form(std::string_view word) {
  if (word.size() > 1 && is_letter(word[0])) word.remove_prefix(1);
  if (const auto dash = word.find('-'); dash != word.npos && is_few_digits(word.substr(dash + 1)))
    word = word.substr(0, dash);
  const auto parts = split(word, ".");
  if (parts.size() < 2 || word.front() == '.' || word.back() == '.') return false;
  if (parts.size() == 5)
    return std::ranges::all_of(parts, [](auto part) { return is_hex_of(part, 2); });
  return parts.size() <= 3 && std::ranges::all_of(parts, is_few_digits);
}

bool is_number_form(std::string_view word) {
  if (is_few_digits(word) || is_short_hex(word) || has_unit(word)) return true;
  if (const auto times = after_prefix(word, "x")) return times->size() <= 2 && is_decimal(*times);
  if (const auto dash = word.find('-'); dash != word.npos)
    return is_few_digits(word.substr(0, dash)) && is_few_digits(word.substr(dash + 1));
  if (!word.starts_with("0x"))
    return word.size() == 9 && word[4] == ':' && is_hex_of(word.substr(0, 4), 4) &&
           is_hex_of(word.substr(5), 4);
  const auto parts = split(word, ":");
  return std::ranges::all_of(parts,
                             [](auto part) { return is_short_hex(part) || is_few_digits(part); });
}

bool is_model_form(std::string_view word) {
  const auto number = std::find_if(word.begin(), word.end(), is_digit);
  const auto end = std::find_if_not(number, word.end(), is_digit);
  const std::string_view before(word.begin(), number), after(end, word.end());
  const bool letters =
      std::ranges::all_of(before, is_upper) || (before.size() == 1 && is_lower(before[0]));
  return number != end && end - number <= 4 && before.size() <= 2 && letters && after.size() <= 2 &&
         std::ranges::all_of(after, is_letter);
}

bool is_modalias_form(std::string_view word) {
  const auto rest = after_prefix(word, "pci:v");
  if (!rest || rest->size() > 64) return false;
  constexpr std::string_view kKeys = "dsvbci";
  return std::ranges::all_of(*rest, [&](char c) {
    return is_digit(c) || (c >= 'A' && c <= 'F') || contains(kKeys, {&c, 1});
  });
}

std::size_t uuid_length(std::string_view text) {
  constexpr std::size_t kDashed = 36, kBare = 32;
  const auto matches = [&](std::size_t length) {
    if (text.size() < length ||
        (text.size() > length && (is_hex(text[length]) || is_letter(text[length]))))
      return false;
    for (std::size_t i = 0; i < length; ++i) {
      const bool dash = length == kDashed && (i == 8 || i == 13 || i == 18 || i == 23);
      if (dash ? text[i] != '-' && text[i] != '_' : !is_hex(text[i])) return false;
    }
    return true;
  };
  return matches(kDashed) ? kDashed : matches(kBare) ? kBare : 0;
}

}  // namespace gpuready
