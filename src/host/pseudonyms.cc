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
    "local",     "tegra",       "jetson",  "apple"};
constexpr std::string_view kSystemAccounts[] = {"root", "nobody", "daemon", "ubuntu",   "debian",
                                                "user", "admin",  "runner", "linuxbrew"};

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

// One walk over a text. Each try_ either appends a substitute and moves on, or does nothing.
class Pseudonyms::Scanner {
 public:
  Scanner(Pseudonyms& names, std::string_view text) : names_(names), text_(text) {
    out_.reserve(text.size());
  }

  std::string run() {
    while (at_ < text_.size()) {
      if (text_[at_] == '/' && try_home()) continue;
      const bool at_start = at_ == 0 || !is_alnum(text_[at_ - 1]) ||
                            (text_[at_ - 1] == 'x' && at_ > 1 && text_[at_ - 2] == '0');
      if (at_start && (try_word() || try_uuid_prefix())) continue;
      if (at_start && (is_hex(text_[at_]) || text_[at_] == ':') && (try_uuid() || try_address()))
        continue;
      out_ += text_[at_++];
    }
    return std::move(out_);
  }

 private:
  bool ends_word(std::size_t at) const { return at >= text_.size() || !is_alnum(text_[at]); }
  bool put(std::size_t length, std::string_view substitute) {
    out_ += substitute;
    at_ += length;
    return true;
  }

  bool try_word() {
    for (const auto& word : names_.words_[static_cast<unsigned char>(text_[at_])])
      if (text_.substr(at_).starts_with(word.text) && ends_word(at_ + word.text.size()))
        return put(word.text.size(), word.substitute);
    return false;
  }

  bool try_home() {
    for (const std::string_view folder : {"/home/", "/Users/"}) {
      if (!text_.substr(at_).starts_with(folder)) continue;
      const auto start = at_ + folder.size();
      auto end = start;
      while (end < text_.size() && (is_alnum(text_[end]) || contains("._-", text_.substr(end, 1))))
        ++end;
      if (end == start) return false;
      return put(end - at_, std::string(folder) + names_.user(text_.substr(start, end - start)));
    }
    return false;
  }

  bool try_uuid() {
    const auto rest = text_.substr(at_);
    for (const bool dashed : {true, false}) {
      const auto length = uuid_length(rest, dashed);
      if (length == 0 || !ends_word(at_ + length)) continue;
      return put(length, with_digits(rest.substr(0, length),
                                     names_.uuid_digits(hex_digits(rest.substr(0, length)))));
    }
    return false;
  }

  // "GPU-8932f9": the start of a UUID that is known from elsewhere, or long enough to tell.
  bool try_uuid_prefix() {
    const auto rest = text_.substr(at_);
    if (!rest.starts_with("GPU-") && !rest.starts_with("MIG-")) return false;
    auto end = rest.find_first_not_of("0123456789abcdefABCDEF-", 4);
    if (end == rest.npos) end = rest.size();
    const auto part = rest.substr(4, end - 4);
    const auto digits = hex_digits(part);
    if (digits.size() < 4 || digits.size() >= 32 || !ends_word(at_ + end)) return false;
    const auto first = names_.uuids_.lower_bound(digits);
    const auto matches = [&](auto it) {
      return it != names_.uuids_.end() && it->first.starts_with(digits);
    };
    if (matches(first) && !matches(std::next(first)))
      return put(end, std::string(rest.substr(0, 4)) + with_digits(part, first->second));
    if (digits.size() < 8) return false;  // may be a word: "GPU-0000"
    return put(end, std::string(rest.substr(0, 4)) + with_digits(part, std::string(32, '0')));
  }

  bool try_address() {
    const auto found = address_at(text_, at_);
    if (found.length == 0) return false;
    const auto original = text_.substr(at_, found.length);
    return put(found.length, names_.shaped(original, found.kind));
  }

  Pseudonyms& names_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
};

std::string Pseudonyms::apply(std::string_view text) { return Scanner(*this, text).run(); }

}  // namespace gpuready
