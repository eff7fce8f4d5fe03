#include "host/pseudonyms.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "host/pseudonym_forms.h"

namespace gpuready {
namespace {

// As a host name each of these would tear facts apart: they stand in paths, logs and tools' output.
constexpr std::string_view kOrdinaryWords[] = {
    "localhost", "localdomain", "linux",   "ubuntu", "debian",  "fedora", "centos",  "rocky",
    "host",      "server",      "node",    "gpu",    "gpus",    "cuda",   "nvidia",  "amd",
    "amdgpu",    "intel",       "rocm",    "vulkan", "sys",     "dev",    "proc",    "usr",
    "lib",       "bin",         "root",    "home",   "kernel",  "pci",    "driver",  "drm",
    "docker",    "system",      "machine", "none",   "unknown", "test",   "default", "main",
    "local",     "tegra",       "jetson",  "apple",  "memory",  "cpu",    "devices", "pids",
    "class",     "bus",         "module",  "block",  "cgroup",  "power",  "online",  "user",
    "session",   "app",         "job",     "xid",    "nvrm",    "python", "service"};
constexpr std::string_view kSystemAccounts[] = {"root", "nobody", "daemon", "ubuntu",   "debian",
                                                "user", "admin",  "runner", "linuxbrew"};

// What firmware says where a serial number or asset tag was never set.
constexpr std::string_view kPlaceholders[] = {"n/a",
                                              "not specified",
                                              "not available",
                                              "to be filled by o.e.m.",
                                              "default string",
                                              "system serial",
                                              "serial number",
                                              "asset tag",
                                              "no asset tag",
                                              "no asset information",
                                              "empty",
                                              "oem",
                                              "xxxxxxxxxx",
                                              "chassis asset tag",
                                              "base board asset tag"};

template <std::size_t N>
bool one_of(std::string_view text, const std::string_view (&words)[N]) {
  const auto lower = to_lower(text);
  return std::find(std::begin(words), std::end(words), lower) != std::end(words);
}

std::size_t count_alnum(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_alnum));
}

constexpr std::uint64_t kSmallestSecretNumber = 100'000;  // below, it may be any count or index

}  // namespace

void Pseudonyms::add_word(std::string_view text, std::string substitute) {
  auto& bucket = words_[static_cast<unsigned char>(text[0])];
  for (const auto& word : bucket)
    if (word.text == text) return;
  const auto at = std::find_if(bucket.begin(), bucket.end(),
                               [&](const Word& word) { return word.text.size() < text.size(); });
  bucket.insert(at, Word{std::string(text), std::move(substitute)});
}

// A text of the same form: digits for digits, letters for letters, a counter at the end.
std::string Pseudonyms::shaped(std::string_view original, char kind) {
  const auto [at, added] = substitutes_.try_emplace(kind + std::string(original));
  if (added) at->second = same_form(original, ++counters_[kind], form_of_kind(kind));
  return at->second;
}

void Pseudonyms::add_serial(std::string_view serial) {
  serial = trim(serial);
  const bool has_digit = std::any_of(serial.begin(), serial.end(), is_digit);
  const bool all_zero = serial.find_first_not_of("0xX-: ") == serial.npos;
  if (!has_digit || all_zero || count_alnum(serial) < 4 || contains(serial, " ") ||
      serial.size() > 128)
    return;
  if (const auto value = parse_uint(serial); value && *value >= kSmallestSecretNumber) {
    const auto substitute = shaped(serial, kSerialKind);
    add_word(serial, substitute);
    numbers_.try_emplace(*value, parse_uint(substitute).value_or(*value));
    return;
  }
  add_word(serial, shaped(serial, kSerialKind));
}

void Pseudonyms::add_number(std::uint64_t value) {
  if (value < kSmallestSecretNumber) return;
  const auto decimal = std::to_string(value);
  const auto substitute = shaped(decimal, kSerialKind);
  const auto number = parse_uint(substitute).value_or(0);
  numbers_.try_emplace(value, number);
  add_word(decimal, substitute);
  add_word(fmt::format("{:016x}", value), fmt::format("{:016x}", number));
  add_word(fmt::format("{:016X}", value), fmt::format("{:016X}", number));
  add_word(fmt::format("{:x}", value), fmt::format("{:x}", number));
}

void Pseudonyms::add_host(std::string_view name) {
  name = trim(name);
  if (name.size() > 253 || contains(name, " ")) return;
  const auto add = [this](std::string_view word) {
    if (word.size() < 3 || one_of(word, kOrdinaryWords) || parse_uint(word)) return;
    add_word(word, shaped(word, kHostKind));
  };
  const auto dot = name.find('.');
  if (dot != name.npos) add(name.substr(0, dot));
  add(name);
}

void Pseudonyms::add_user(std::string_view name) {
  if (name.size() < 3 || one_of(name, kOrdinaryWords) || one_of(name, kSystemAccounts)) return;
  add_word(name, user(name));
}

void Pseudonyms::add_users_of_homes(std::string_view text) {
  for (const std::string_view folder : {"/home/", "/Users/"})
    for (auto at = text.find(folder); at != text.npos; at = text.find(folder, at + 1)) {
      const auto rest = text.substr(at + folder.size(), 64);
      add_user(rest.substr(0, rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz"
                                                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")));
    }
}

void Pseudonyms::add_label(std::string_view label) {
  label = trim(label);
  if (label.size() < 3 || label.size() > 253 || one_of(label, kPlaceholders) ||
      one_of(label, kOrdinaryWords) || label.find_first_not_of("0-. ") == label.npos)
    return;
  add_word(label, shaped(label, kSerialKind));
}

std::string Pseudonyms::user(std::string_view name) {
  if (name.empty() || one_of(name, kSystemAccounts)) return std::string(name);
  return shaped(name, kUserKind);
}

// The counter's digits stand first, lowest first: a prefix of a UUID is itself a name for a GPU
// (CUDA_VISIBLE_DEVICES=GPU-8932f9), and so keeps naming the same one.
std::string Pseudonyms::uuid_digits(std::string_view digits) {
  // The vendor GUID of EFI's own variables (UEFI specification, 8.2) is the same everywhere.
  constexpr std::string_view kEfiGlobalVariable = "8be4df6193ca11d2aa0d00e098032b8c";
  if (digits.find_first_not_of('0') == digits.npos || digits == kEfiGlobalVariable)
    return std::string(digits);
  const auto [at, added] = uuids_.try_emplace(std::string(digits));
  if (added) {
    auto counter = fmt::format("{:x}", ++counters_[kUuidKind]);
    std::reverse(counter.begin(), counter.end());
    counter.resize(32, '0');
    at->second = counter;
  }
  return at->second;
}

UuidBytes Pseudonyms::uuid(const UuidBytes& bytes) {
  std::string digits;
  for (const auto byte : bytes) digits += fmt::format("{:02x}", byte);
  const auto substitute = uuid_digits(digits);
  UuidBytes out{};
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::uint8_t>(parse_uint(substitute.substr(2 * i, 2), 16).value_or(0));
  return out;
}

std::uint64_t Pseudonyms::number(std::uint64_t value) const {
  const auto found = numbers_.find(value);
  return found == numbers_.end() ? value : found->second;
}

}  // namespace gpuready
