#include "host/redaction/redactor.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/text.h"
#include "host/recording/recording.h"
#include "host/redaction/secret_names.h"
#include "host/redaction/token_forms.h"

namespace gpuready {
namespace {

constexpr std::string_view kHidden = "*", kSubstitute = "redacted-";
// By which a reader knows what a file is.
constexpr std::string_view kEndings[] = {".json", ".conf", ".service", ".slice", ".scope"};
// Folders of the kernel's below which somebody chose the names.
constexpr std::string_view kNamedFolders[] = {"net",   "infiniband", "zfs",  "bcache", "bcachefs",
                                              "btrfs", "mapper",     "leds", "md"};
// Disks, by the kernel's own names; a number may follow.
constexpr std::string_view kDisks[] = {"dm-", "md", "loop", "zram", "ram", "nbd", "rbd", "nullb"};

template <std::size_t N>
bool one_of(std::string_view text, const std::string_view (&words)[N]) {
  return std::ranges::find(words, text) != std::end(words);
}

// Letters of words, paths, addresses and hosts; whatever is not printable is one too, and so is
// never shown.
bool is_word_letter(char c) {
  constexpr std::string_view kJoins = "_.-+@~%/\\:";
  const auto byte = static_cast<unsigned char>(c);
  if (c == '\n' || c == '\t' || c == '\r' || c == '\0') return false;
  return is_digit(c) || is_letter(c) || contains(kJoins, {&c, 1}) || byte < 0x20 || byte >= 0x7f;
}

std::string_view ending_of(std::string_view name) {
  for (const auto ending : kEndings)
    if (name.ends_with(ending)) return ending;
  return {};
}

// "redacted-7", "redacted-7.json".
bool is_substitute(std::string_view name) {
  const auto rest = after_prefix(name.substr(0, name.size() - ending_of(name).size()), kSubstitute);
  return rest && is_decimal(*rest);
}

// "sda1", "vdb", "nvme0n1p2", "dm-0".
bool is_disk(std::string_view name) {
  const auto numbered = [&](std::string_view start) {
    const auto rest = after_prefix(name, start);
    return rest && rest->size() <= 5 && is_decimal(*rest);
  };
  if (std::ranges::any_of(kDisks, numbered)) return true;
  const auto letters = name.find_last_not_of("0123456789") + 1;  // npos + 1 is 0
  if (name.starts_with("sd") || name.starts_with("vd"))
    return letters <= 4 && std::ranges::all_of(name.substr(0, letters), is_lower);
  const auto rest = after_prefix(name, "nvme");
  return rest && rest->size() <= 16 && rest->find_first_not_of("0123456789ncp") == rest->npos;
}

std::string hex_digits(std::string_view text) {
  std::string digits = to_lower(text);
  std::erase_if(digits, [](char c) { return !is_hex(c); });
  return digits;
}

// `text` with its hex digits replaced one by one by those of `digits`, in its own case.
std::string with_digits(std::string_view text, std::string_view digits) {
  std::string out(text);
  std::size_t next = 0;
  for (char& c : out)
    if (is_hex(c) && next < digits.size()) {
      const char digit = digits[next++];
      c = is_upper(c) && is_letter(digit) ? static_cast<char>(digit - 'a' + 'A') : digit;
    }
  return out;
}

}  // namespace

// Patterns leave the first letter out where it may be a capital: "urvivability mode".
bool Redactor::is_fixed(std::string_view word) const {
  constexpr std::size_t kShortestRest = 6;
  if (!rules_.is_fixed_word) return false;
  return rules_.is_fixed_word(word) || (word.size() > kShortestRest && is_letter(word[0]) &&
                                        rules_.is_fixed_word(word.substr(1)));
}

// ---- substitutes

std::string Redactor::name(std::string_view name) {
  if (name.empty() || is_substitute(name)) return std::string(name);
  const auto [at, added] = names_.try_emplace(std::string(name));
  if (added) at->second = fmt::format("{}{}{}", kSubstitute, names_.size(), ending_of(name));
  return at->second;
}

std::uint64_t Redactor::id(std::uint64_t number) {
  constexpr std::uint64_t kLargestCount = 99'999;  // an index or a substitute
  if (number <= kLargestCount) return number;
  return ids_.try_emplace(number, ids_.size() + 1).first->second;
}

void Redactor::note_address(std::string_view address) {
  if (is_full_address(address)) domains_.insert(domain_of(address));
}

// The counter's digits stand first, lowest first: a prefix of a UUID is itself a name for a GPU
// (CUDA_VISIBLE_DEVICES=GPU-8932f9), and so keeps naming the same one.
std::string Redactor::uuid_digits(const std::string& digits) {
  // The vendor GUID of EFI's own variables (UEFI specification, 8.2) is the same everywhere.
  constexpr std::string_view kEfiGlobalVariable = "8be4df6193ca11d2aa0d00e098032b8c";
  constexpr std::size_t kCounterDigits = 8;
  const auto rest = std::string_view(digits).substr(kCounterDigits);
  if (rest.find_first_not_of('0') == rest.npos || digits == kEfiGlobalVariable) return digits;
  const auto [at, added] = uuids_.try_emplace(digits);
  if (added) {
    at->second = fmt::format("{:x}", uuids_.size());
    std::ranges::reverse(at->second);
    at->second.resize(digits.size(), '0');
  }
  return at->second;
}

UuidBytes Redactor::uuid(const UuidBytes& bytes) {
  std::string digits;
  for (const auto byte : bytes) digits += fmt::format("{:02x}", byte);
  const auto substitute = uuid_digits(digits);
  UuidBytes out{};
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::uint8_t>(parse_uint(substitute.substr(2 * i, 2), 16).value_or(0));
  return out;
}

// "GPU-<uuid>", "MIG-<uuid>", "MIG-GPU-<uuid>/1/0", "<uuid>", and the beginning of a known GPU's.
std::string Redactor::uuids(std::string_view word) {
  std::string out;
  for (const std::string_view prefix : {"MIG-", "GPU-"})
    if (const auto rest = after_prefix(word, prefix)) {
      out += prefix;
      word = *rest;
    }
  if (const auto length = uuid_length(word)) {
    const auto rest = word.substr(length);
    if (rest.find_first_not_of("/0123456789") != rest.npos || rest.size() > 6) return {};
    return out +
           with_digits(word.substr(0, length), uuid_digits(hex_digits(word.substr(0, length)))) +
           std::string(rest);
  }
  const auto digits = hex_digits(word);
  if (out.empty() || digits.size() < 4 ||
      word.find_first_not_of("0123456789abcdefABCDEF-") != word.npos)
    return {};
  const auto first = uuids_.lower_bound(digits);
  const auto matches = [&](auto it) { return it != uuids_.end() && it->first.starts_with(digits); };
  const bool known = matches(first) && !matches(std::next(first));
  // The beginning of a substitute: a count below 256, and zeros.
  const bool redacted = digits.find_first_not_of('0', 2) == digits.npos;
  if (!known && redacted) return out + std::string(word);
  return out + with_digits(word, known ? first->second : std::string(32, '0'));
}

// ---- paths

// What a runtime writes around an id stays: it tells which runtime it is.
std::string Redactor::group_part(std::string_view name) {
  if (name == "." || name == ".." || is_fixed(name)) return std::string(name);
  std::string prefix;
  for (const auto marker : rules_.group_markers) {
    const auto anchored = after_prefix(marker, "/");
    const auto part = anchored.value_or(marker);
    const bool there = anchored ? name.starts_with(part) : contains(name, part);
    if (there && !contains(prefix, part))
      prefix += std::string(part) + (part.ends_with('-') ? "" : "-");
  }
  if (const auto rest = after_prefix(name, prefix); rest && is_substitute(*rest))
    return std::string(name);
  return prefix + this->name(name);
}

// "/dev/vfio/12": a number counts what the folder is named after.
std::string Redactor::device_part(std::string_view name, std::string_view folder) {
  const auto stem = name.substr(0, name.find_last_not_of("0123456789") + 1);
  const bool numbered = stem.size() + 5 >= name.size();
  const bool known = stem.empty() ? is_fixed(folder) : is_fixed(stem) || is_disk(name);
  return numbered && known ? std::string(name) : this->name(name);
}

// Of a folder that the system or a user made.
std::string Redactor::component(std::string_view name) {
  const bool fixed = is_fixed(name) || (name.starts_with('.') && is_fixed(name.substr(1)));
  if (name == "." || name == ".." || fixed) return std::string(name);
  if (const auto known = uuids(name); !known.empty()) return known;
  const auto number = name.find_first_of("0123456789");
  const auto stem = trim(name.substr(0, number));
  if (stem == "cuda-" || stem == "rocm-" || stem == "cuda" || stem == "rocm")
    if (is_version_form(name.substr(number)) || is_number_form(name.substr(number)))
      return std::string(name);
  if (const auto so = name.find(".so"); so != name.npos) {  // "libcuda.so.580.95.05"
    const std::string library(name.substr(0, so));
    const bool known =
        is_fixed(library) || is_fixed(library + ".so") || is_fixed(library + ".so.1");
    if (known && name.substr(so + 3).find_first_not_of(".0123456789") == name.npos)
      return std::string(name);
  }
  if (const auto gfx = name.find("gfx"); gfx != name.npos) {  // "TensileLibrary_lazy_gfx90a.dat"
    const auto dot = name.find('.', gfx);
    const auto target = name.substr(gfx + 3, std::min(dot, name.size()) - gfx - 3);
    if (is_fixed(name.substr(0, gfx)) && target.size() <= 4 && std::ranges::all_of(target, is_hex))
      return std::string(name.substr(0, std::min(dot, name.size()))) +
             (name.ends_with(".dat") ? ".dat" : "");
  }
  // Windows' drivers: "nv_dispi.inf_amd64_07cc3dde"
  if (const auto inf = name.find(".inf_amd64_"); inf != name.npos &&
                                                 is_fixed(name.substr(0, inf)) &&
                                                 std::ranges::all_of(name.substr(inf + 11), is_hex))
    return std::string(name);
  return this->name(name);
}

std::string Redactor::path(std::string_view path) {
  std::string out;
  std::string_view root, before;
  std::size_t depth = 0;
  bool groups = false;
  while (!path.empty()) {
    const auto slash = path.find('/');
    const auto part = path.substr(0, slash);
    if (!part.empty()) {
      if (depth == 0) root = part;
      const bool kernels = root == "sys" || root == "proc" || before == "kernel";
      constexpr std::string_view kLetters = "_.:@,+-";
      const bool plain = part.size() <= 64 && std::ranges::all_of(part, [&](char c) {
                           return is_digit(c) || is_letter(c) || contains(kLetters, {&c, 1});
                         });
      const auto uuid = uuids(part);
      if (groups)
        out += group_part(part);
      else if (!uuid.empty())
        out += uuid;
      else if (before == "modules" && root == "lib")
        out += release(part);
      else if (one_of(before, kNamedFolders))
        out += root == "dev" || root == "sys" || root == "proc" ? name(part) : component(part);
      else if (root == "dev")
        out += depth == 0 ? "dev" : device_part(part, before);
      else if (kernels && plain)
        out += part;
      else if (root == "lib" && contains(out, "/kernel/"))
        out += plain ? std::string(part) : name(part);
      else
        out += component(part);
      groups |= root == "sys" && part == "cgroup" && depth == 2;
      before = part;
      ++depth;
    }
    if (slash == path.npos) break;
    out += '/';
    path.remove_prefix(slash + 1);
  }
  return out;
}

std::string Redactor::paths(std::string_view list) {
  constexpr std::string_view kSeparators = ":;";
  const bool one = list.find_first_of(kSeparators) == list.npos;
  if (one && !list.starts_with('/')) return text(list);
  std::string out;
  for (;;) {
    const auto end = list.find_first_of(kSeparators);
    const auto folder = list.substr(0, end);
    if (!folder.empty()) out += folder.starts_with('/') ? path(folder) : std::string(kHidden);
    if (end == list.npos) return out;
    out += list[end];
    list.remove_prefix(end + 1);
  }
}

std::string Redactor::link(std::string_view from, std::string_view target) {
  if (target.starts_with('/')) return path(target);
  const bool kernels = from.starts_with("/sys/") || from.starts_with("/proc/");
  std::string out;
  std::string_view before;
  while (!target.empty()) {
    const auto slash = target.find('/');
    const auto part = target.substr(0, slash);
    if (kernels)  // as below a folder of the kernel's
      out +=
          one_of(before, kNamedFolders) ? name(part) : path("/sys/" + std::string(part)).substr(5);
    else
      out += from.starts_with("/dev/") ? part == ".." ? ".." : device_part(part, before)
                                       : component(part);
    before = part;
    if (slash == target.npos) break;
    out += '/';
    target.remove_prefix(slash + 1);
  }
  return out;
}

std::string Redactor::group(std::string_view path) {
  constexpr std::string_view kRoot = "/sys/fs/cgroup";
  return this->path(std::string(kRoot) + std::string(path)).substr(kRoot.size());
}

// What a distribution or a builder put behind the version stays only where it is known.
std::string Redactor::release(std::string_view kernel) {
  std::string out;
  while (!kernel.empty()) {
    const auto end = kernel.find_first_of("-_+");
    const auto part = kernel.substr(0, end);
    const bool number = part.find_first_not_of(".0123456789") == part.npos && part.size() <= 12;
    const bool build = part.size() <= 5 && is_lower(part[0]) &&
                       part.find_first_not_of("0123456789", 1) == part.npos;  // "v657"
    if (!part.empty()) out += number || build || is_fixed(part) ? std::string(part) : "x";
    if (end == kernel.npos) break;
    out += kernel[end];
    kernel.remove_prefix(end + 1);
  }
  return out;
}

// ---- text

// Of a longer word the fixed one that it begins with: patterns end inside of words, too
// ("nvidia-nvlink", "Reloading").
std::string Redactor::beginning(std::string_view word) const {
  constexpr std::size_t kShortest = 2, kShortestOpen = 6;
  for (auto length = word.size() - 1; length >= kShortest; --length) {
    const bool ends = contains("-_.:", word.substr(length, 1));
    const auto start = word.substr(0, length);
    const bool number = std::ranges::any_of(start, is_digit) || !is_letter(start.back());
    if (!number && (ends || length >= kShortestOpen) && is_fixed(start))
      return std::string(start) + (ends ? std::string(1, word[length]) : "");
  }
  return {};
}

// "9654" of "EPYC 9654 96-Core", "24.04.3" of "Ubuntu 24.04.3 LTS": one short number behind a shown
// word with a capital; "200" of "R9 200 / HD 7900", "6800/6800" of "RX 6800/6800 XT": listed ones.
// Numbers side by side are a telephone's, a card's or an account's.
bool Redactor::is_model_number(std::string_view before, std::string_view number,
                               std::string_view after) const {
  constexpr std::size_t kMostDigits = 4;
  if (!before.ends_with(' ')) return false;
  before.remove_suffix(before.ends_with(" / ") ? 3 : 1);
  const auto word = before.substr(before.find_last_of(" \t(\":=") + 1);  // npos + 1 is 0
  if (word.empty() || !is_upper(word[0])) return false;
  const bool is_short = (number.size() <= kMostDigits && is_decimal(number)) ||
                        (is_small_form(number) && is_digit(number[0]));
  const auto is_listed = [&](std::string_view part) {
    return !is_decimal(part) ? is_model(part) : rules_.is_model_word && rules_.is_model_word(part);
  };
  if ((!is_short || std::ranges::any_of(word, is_digit)) &&
      !std::ranges::all_of(split(number, "/"), is_listed))
    return false;
  const auto next = after.substr(std::min(after.find_first_not_of(" \t.-/+"), after.size()));
  const auto token = next.substr(0, next.find_first_of(" \t\n\"),"));
  return token.empty() || !is_digit(token[0]) || std::ranges::any_of(token, is_letter);
}

// "A100-SXM4-40GB", "96-Core"; no "ip-10-0-0-1".
bool Redactor::is_model(std::string_view word) const {
  if (rules_.is_model_word && rules_.is_model_word(word)) return true;
  std::ptrdiff_t numbers = 0;
  for (const auto part : split(word, "-")) {
    numbers += is_decimal(part) ? 1 : 0;
    const bool known = is_fixed(part) || (rules_.is_model_word && rules_.is_model_word(part));
    if (!is_model_form(part) && (!known || (part.size() < word.size() && is_lower(part[0]))))
      return false;
  }
  return numbers <= 1;
}

// A relative path is shown whole or not at all; of a firmware's file, whose it is and for what.
std::string Redactor::relative(std::string_view path, Kind kind) {
  std::string out;
  const bool firmware = path.ends_with(".bin") && is_fixed(path.substr(0, path.find('/')));
  for (auto rest = path;;) {
    const auto slash = rest.find('/');
    const auto part = rest.substr(0, slash);
    auto kept = part.empty() || part == ".." || part == "." ? std::string(part) : word(part, kind);
    if (kept.ends_with(kHidden)) {
      if (!firmware) return beginning(path) + std::string(kHidden);
      const auto use = part.substr(0, part.find('_'));
      if (slash == rest.npos) return out + (is_fixed(use) ? std::string(use) + "_" : "") + "*.bin";
      kept = kHidden;
    }
    out += kept;
    if (slash == rest.npos) return out;
    out += '/';
    rest.remove_prefix(slash + 1);
  }
}

// Numbers of a text come from anybody: digits that look like an address, a date or an account are
// one. Where rules read a number its form says enough.
std::string Redactor::numbered(std::string_view word, Kind kind, bool is_read) const {
  const bool address = is_pci_form(word);
  if (kind != Kind::call && !is_read) {
    const bool known = address && is_full_address(word) && domains_.contains(domain_of(word));
    return known ? std::string(word) : std::string();
  }
  if (address || is_version_form(word) || is_number_form(word)) return std::string(word);
  constexpr std::size_t kRequesterDigits = 4;  // "id=00e0": bus, device and function
  const bool requester =
      is_read && word.size() == kRequesterDigits && std::ranges::all_of(word, is_hex);
  const bool size = is_read && std::has_single_bit(parse_uint(word).value_or(0));  // "524288"
  return requester || size ? std::string(word) : std::string();
}

std::string Redactor::word(std::string_view word, Kind kind, bool is_read) {
  if (is_substitute(word) || is_fixed(word)) return std::string(word);
  if (auto number = numbered(word, kind, is_read); !number.empty()) return number;
  // A MIG instance in an Xid: "GPU-I:01"
  for (const std::string_view instance : {"GPU-I:", "GPU-CI:"})
    if (const auto number = after_prefix(word, instance);
        number && number->size() <= 2 && is_decimal(*number))
      return std::string(word);
  if (auto known = uuids(word); !known.empty()) return known;
  if (word.starts_with('/')) {
    const auto next = word.find(":/");
    const auto rest =
        next == word.npos ? std::string() : ":" + this->word(word.substr(next + 1), kind);
    return path(word.substr(0, next)) + rest;
  }
  if ((word.size() == 1 && !is_digit(word[0])) ||
      word.find_first_not_of("@%~/\\.:+-_") == word.npos)
    return std::string(word);
  if (contains(word, "/")) return relative(word, kind);
  // "GPU6", "Tile0"; "mig0" in a call
  if (const auto stem = word.substr(0, word.find_last_not_of("0123456789") + 1);
      word.size() - stem.size() <= 2 && (kind == Kind::call || is_read) &&
      (kind == Kind::call || (!stem.empty() && is_upper(stem[0]))) && is_fixed(stem))
    return std::string(word);
  constexpr std::size_t kMostOfCall = 10;  // process ids
  if (kind == Kind::call && word.size() <= kMostOfCall && is_decimal(word))
    return std::string(word);
  const auto is_shown = [&](std::string_view part) {
    return is_fixed(part) || (kind == Kind::model && !is_decimal(part) && is_model(part));
  };
  if (std::ranges::all_of(split(word, ":"), is_shown)) return std::string(word);
  return beginning(word) + std::string(kHidden);
}

std::string Redactor::answer(std::string_view answer, Kind kind) {
  const bool number = is_pci_form(answer) || is_version_form(answer) || is_number_form(answer);
  return number ? std::string(answer) : text(answer, kind);
}

std::string Redactor::value(std::string_view value) {
  if (contains(value, "/") && uuids(value).empty()) return paths(value);
  std::string out;
  for (;;) {
    const auto end = std::min(value.find(','), value.size());
    const auto part = value.substr(0, end);
    out += is_small_form(part) ? std::string(part) : text(part);
    if (end == value.size()) return out;
    out += ',';
    value.remove_prefix(end + 1);
  }
}

// A call without a list of arguments is a text.
Redactor::Kind Redactor::kind_of(std::string_view line, Kind kind) {
  constexpr std::string_view kNotOfCalls = " \t\n=:[]{}\"'";
  const bool is_text = line.find_first_of(kNotOfCalls) != line.npos && !contains(line, "PCI:") &&
                       std::ranges::none_of(split(line, "(,)"), is_pci_form);
  return kind == Kind::call && is_text ? Kind::words : kind;
}

std::string Redactor::text(std::string_view text, Kind kind) {
  std::string out;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size() - 1) + 1;
    out += line(text.substr(0, end), kind_of(text.substr(0, end), kind));
    text.remove_prefix(end);
  }
  return out;
}

std::string Redactor::line(std::string_view text, Kind kind) {
  constexpr std::string_view kStops = ".:+-%_";
  std::string out;
  const auto whole_line = text;
  if (kind == Kind::model && rules_.is_model_name && rules_.is_model_name(trim(text)))
    return std::string(text);
  while (!text.empty()) {
    if (!is_word_letter(text.front())) {
      out += text.front();
      text.remove_prefix(1);
      continue;
    }
    const auto end = std::ranges::find_if_not(text, is_word_letter) - text.begin();
    auto whole = text.substr(0, static_cast<std::size_t>(end));
    text.remove_prefix(whole.size());
    const bool relative = whole.starts_with("./") || whole.starts_with("../");
    const auto first = relative ? 0 : std::min(whole.find_first_not_of(kStops), whole.size());
    const auto last = std::max(whole.find_last_not_of(kStops) + 1, first);  // npos + 1 is 0
    const auto inner = whole.substr(first, last - first);
    out += whole.substr(0, first);
    const auto at = static_cast<std::size_t>(inner.data() - whole_line.data());
    const bool is_read =
        kind == Kind::log && rules_.reads_number && rules_.reads_number(whole_line, at);
    if (kind == Kind::model && is_model_number(out, inner, text))
      out += inner;
    else if (!inner.empty())
      out += word(inner, kind, is_read);
    out += whole.substr(last);
  }
  return out;
}

}  // namespace gpuready
