#include "machine/nvidia/nvidia_parse.h"

#include "base/text.h"

namespace gpuready {
namespace {
constexpr std::size_t kMaxFields = 4096;
}

std::optional<std::string> driver_version_in(std::string_view text) {
  auto version = find_version(text);
  // Digits beyond any integer cannot be compared, so they are not versions.
  return version && parse_version(*version) ? version : std::nullopt;
}

NvidiaVersionFile parse_nvidia_version(std::string_view text) {
  NvidiaVersionFile file;
  for (const auto line : lines(text)) {
    const auto rest = after_prefix(trim(line), "NVRM version:");
    if (!rest) continue;
    // "NVIDIA UNIX x86_64 Kernel Module  535.183.01 ..." or
    // "NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build ..."
    constexpr std::string_view kModule = "Kernel Module";
    const auto module = rest->find(kModule);
    if (module == std::string_view::npos) return file;
    file.version = driver_version_in(rest->substr(module + kModule.size()));
    file.flavour = contains(rest->substr(0, module), "Open") ? "open" : "proprietary";
    return file;
  }
  return file;
}

std::map<std::string, std::string> parse_nvidia_fields(std::string_view text) {
  std::map<std::string, std::string> fields;
  for (const auto line : lines(text)) {
    if (fields.size() >= kMaxFields) break;
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const auto name = trim(line.substr(0, colon));
    if (name.empty()) continue;
    fields.emplace(printable(name), printable(trim(line.substr(colon + 1))));
  }
  return fields;
}

std::optional<std::string> known_value(const std::map<std::string, std::string>& fields,
                                       const char* name) {
  const auto it = fields.find(name);
  if (it == fields.end() || it->second.empty() || contains(it->second, "??") ||
      it->second == "N/A" || it->second == "Unknown")
    return std::nullopt;
  return it->second;
}

std::optional<std::string> parse_module_block(std::string_view text,
                                              std::initializer_list<std::string_view> modules) {
  for (const auto line : lines(text)) {
    const auto words = split(line, " \t\r");
    if (words.size() < 2 || std::ranges::count(modules, words[1]) == 0) continue;
    const auto third = words.size() > 2 ? words[2] : "";
    const bool blocks =
        words[0] == "blacklist" || (words[0] == "alias" && third == "off") ||
        (words[0] == "install" && (third.ends_with("/false") || third.ends_with("/true")));
    if (!blocks) continue;
    const auto block = std::string(words[0]) + " " + std::string(words[1]);
    return words[0] == "blacklist" ? block : block + " " + printable(third);
  }
  return std::nullopt;
}

std::optional<std::string> library_version(std::string_view path) {
  constexpr std::string_view kMark = ".so.";
  const auto at = path.rfind(kMark);
  if (at == std::string_view::npos) return std::nullopt;
  const auto suffix = path.substr(at + kMark.size());
  const auto version = parse_version(suffix);
  if (!version || version->parts.size() < 2) return std::nullopt;
  return std::string(suffix);
}

}  // namespace gpuready
