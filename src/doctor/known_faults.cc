// Reads the ranges of known_faults.json and compares them with a machine.
#include "doctor/known_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/characters.h"
#include "base/json.h"
#include "base/text.h"
#include "doctor/facts.h"
#include "value/names.h"

extern "C" {
extern const char gpuready_known_faults_begin[];
extern const char gpuready_known_faults_end[];
}

namespace gpuready {

std::string_view words_for(Sureness sureness) {
  return sureness == Sureness::published    ? "with these versions"
         : sureness == Sureness::fixed_only ? "with the version that fixes it"
                                            : "by users, who name versions";
}

namespace {

// "6.8.0-38-generic": 6, 8, 0, 38.
Version numbers_of(std::string_view text) {
  Version version;
  for (const auto part : split(text, ".-")) {
    const auto number = parse_int(part);
    if (!number) break;
    version.parts.push_back(static_cast<int>(*number));
  }
  return version;
}

bool begins_with(const Version& version, const Version& bound) {
  return std::ranges::mismatch(version.parts, bound.parts).in2 == bound.parts.end();
}

// A distribution's "6.1.0-40" counts its own builds: which patch level it has is not known.
bool counts_builds(std::string_view text) {
  const auto numbers = numbers_of(text).parts;
  return numbers.size() > 3 && numbers[2] == 0 && contains(text, ".0-");
}

struct Range {
  Version from, to;  // no parts: no bound
  bool to_excluded = false, builds = false;
  bool has(const Version& version) const {
    if (!from.parts.empty() && version < from) return false;
    return to.parts.empty() || version < to || (!to_excluded && begins_with(version, to));
  }
  // A bound below the minor version means nothing for a version of the same minor one that counts
  // in another way.
  bool compares(const Version& version, bool of_builds) const {
    return std::ranges::none_of(std::array{&from, &to}, [&](const Version* bound) {
      return bound->parts.size() > 2 && builds != of_builds && version.parts.size() > 2 &&
             std::ranges::equal(std::span(bound->parts).first(2),
                                std::span(version.parts).first(2));
    });
  }
};

std::optional<Range> parse_range(std::string_view text) {
  const auto dots = text.find("..");
  Range range;
  std::string_view from = text.substr(0, dots), to = from;
  if (dots != std::string_view::npos) {
    to = text.substr(dots + 2);
    range.to_excluded = to.starts_with('<');
    if (range.to_excluded) to.remove_prefix(1);
  }
  if (from.empty() && to.empty()) return std::nullopt;
  for (const auto bound : {from, to})
    if (!std::ranges::all_of(bound, [](char c) { return is_digit(c) || c == '.' || c == '-'; }) ||
        (!bound.empty() && numbers_of(bound).parts.empty()))
      return std::nullopt;
  range.from = numbers_of(from);
  range.to = numbers_of(to);
  range.builds = counts_builds(from) || counts_builds(to);
  if (!from.empty() && !to.empty() && !range.has(range.from)) return std::nullopt;
  return range;
}

bool has_word(std::string_view text, std::string_view word) {
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const auto end = at + word.size();
    if ((at == 0 || !is_letter_or_digit(text[at - 1])) &&
        (end == text.size() || !is_letter_or_digit(text[end])))
      return true;
  }
  return false;
}

bool is_one_of(const Machine& machine, const Gpu& gpu, std::string_view words) {
  if (words.empty()) return true;
  std::string all =
      gpu.name + "|" + gpu.architecture.value_or("") + "|" + gpu.gfx_target.value_or("");
  if (const auto* device = gpu.pci ? doctor::pci_device(machine, *gpu.pci) : nullptr)
    all += fmt::format("|{}|{:04x}:{:04x}", device->name.value_or(""), device->vendor_id,
                       device->device_id);
  return std::ranges::any_of(split(words, ","),
                             [&](std::string_view word) { return has_word(all, trim(word)); });
}

struct Text {
  const char* name;
  std::string KnownFault::* field;
  bool needed = false;
};
constexpr Text kTexts[] = {{"id", &KnownFault::id, true},
                           {"gpus", &KnownFault::gpus},
                           {"drivers", &KnownFault::drivers},
                           {"kernels", &KnownFault::kernels},
                           {"toolkits", &KnownFault::toolkits},
                           {"flavour", &KnownFault::flavour},
                           {"symptoms", &KnownFault::symptoms, true},
                           {"says", &KnownFault::says},
                           {"text", &KnownFault::text, true},
                           {"fixed", &KnownFault::fixed},
                           {"source", &KnownFault::source, true}};

Result<KnownFault> parse_row(const Json& doc, const Json& symptoms) {
  KnownFault fault;
  for (const auto& text : kTexts)
    if (auto value = get_string(doc, text.name))
      fault.*text.field = std::move(*value);
    else if (text.needed)
      return Error{ErrorKind::bad_input, fmt::format("{}: {} is missing", fault.id, text.name)};
  if (const auto group = get_string(symptoms, fault.symptoms)) fault.symptoms = *group;
  const auto vendor = named<Vendor>(get_string(doc, "vendor").value_or(""));
  const auto sureness = named<Sureness>(get_string(doc, "sureness").value_or(""));
  if (!vendor || !sureness)
    return Error{ErrorKind::bad_input, fmt::format("{}: unknown vendor or sureness", fault.id)};
  fault.vendor = *vendor;
  fault.sureness = *sureness;
  fault.severe = get_bool(doc, "severe").value_or(false);
  fault.hmm = get_bool(doc, "hmm").value_or(false);
  return fault;
}

}  // namespace

Result<std::vector<KnownFault>> parse_known_faults(std::string_view text) {
  const auto doc = parse_json(text, "known_faults.json");
  if (!doc) return doc.error();
  std::vector<KnownFault> faults;
  for (const auto& row : member(*doc, "faults")) {
    auto fault = parse_row(row, member(*doc, "symptoms"));
    if (!fault) return fault.error();
    faults.push_back(std::move(*fault));
  }
  return faults;
}

Result<void> check_versions(const KnownFault& fault) {
  const std::string_view ranges[] = {fault.drivers, fault.kernels, fault.toolkits};
  if (std::ranges::all_of(ranges, &std::string_view::empty))
    return Error{ErrorKind::bad_input, fmt::format("{}: it names no version", fault.id)};
  for (const auto range : ranges)
    if (!are_ranges(range))
      return Error{ErrorKind::bad_input, fmt::format("{}: `{}` is not a range", fault.id, range)};
  return {};
}

std::span<const KnownFault> known_faults() {
  static const auto kFaults =
      parse_known_faults({gpuready_known_faults_begin, gpuready_known_faults_end});
  return kFaults ? std::span<const KnownFault>(*kFaults) : std::span<const KnownFault>();
}

bool are_ranges(std::string_view text) {
  return std::ranges::all_of(split(text, " "),
                             [](std::string_view range) { return parse_range(range).has_value(); });
}

bool is_in(std::string_view version, std::string_view ranges) {
  const auto numbers = numbers_of(version);
  return !numbers.parts.empty() && std::ranges::any_of(split(ranges, " "), [&](auto text) {
    const auto range = parse_range(text);
    return range && range->compares(numbers, counts_builds(version)) && range->has(numbers);
  });
}

std::string known_driver(const Machine& machine, Vendor vendor) {
  if (vendor == Vendor::amd) return machine.amd.module_version.value_or("");
  if (vendor != Vendor::nvidia) return "";
  const auto& nvidia = machine.nvidia;
  if (nvidia.module_version) return *nvidia.module_version;
  if (nvidia.driver_version) return *nvidia.driver_version;
  for (const auto& library : nvidia.libraries)
    if (library.version && contains(*library.version, ".")) return *library.version;
  return "";
}

std::vector<std::string> known_toolkits(const Machine& machine, Vendor vendor) {
  std::vector<std::string> versions;
  if (vendor == Vendor::amd && machine.amd.rocm_version)
    versions.push_back(*machine.amd.rocm_version);
  for (const auto& toolkit : machine.toolkits)
    if (toolkit.kind == (vendor == Vendor::amd ? "rocm" : "cuda"))
      versions.push_back(toolkit.version);
  return versions;
}

const KnownFault* kernel_too_old(const Machine& machine, const std::vector<int>& gpus) {
  const auto fits = [&](const KnownFault& fault) {
    return fault.kernels.starts_with("..<") && fault.drivers.empty() && fault.toolkits.empty() &&
           contains(fault.symptoms, "driver-not-bound") &&
           std::ranges::find_first_of(gpus, concerned(machine, fault)) != gpus.end();
  };
  const auto found = std::ranges::find_if(known_faults(), fits);
  return found == known_faults().end() ? nullptr : &*found;
}

std::vector<int> concerned(const Machine& machine, const KnownFault& fault) {
  if (!fault.drivers.empty() && !is_in(known_driver(machine, fault.vendor), fault.drivers))
    return {};
  if (!fault.kernels.empty() && !is_in(machine.system.kernel_release, fault.kernels)) return {};
  if (!fault.flavour.empty() && machine.nvidia.module_flavour != fault.flavour) return {};
  if (fault.hmm && doctor::hmm_is_off(machine)) return {};
  if (!fault.toolkits.empty() &&
      std::ranges::none_of(known_toolkits(machine, fault.vendor),
                           [&](const auto& version) { return is_in(version, fault.toolkits); }))
    return {};
  std::vector<int> gpus;
  for (const auto& gpu : machine.gpus)
    if (gpu.vendor == fault.vendor && !gpu.faked && is_one_of(machine, gpu, fault.gpus))
      gpus.push_back(gpu.index);
  return gpus;
}

}  // namespace gpuready
