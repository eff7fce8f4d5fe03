#include "vm/guest/config.h"

#include "base/text.h"

namespace gpuready::vm {
namespace {

bool yes(std::string_view value) { return value == "1" || value == "yes" || value == "true"; }

struct Text {
  std::string_view key;
  std::string GuestConfig::* member;
};
constexpr Text kTexts[] = {
    {"root", &GuestConfig::root},
    {"rootfstype", &GuestConfig::root_type},
    {"rootflags", &GuestConfig::root_flags},
    {"init", &GuestConfig::init},
    {"gpuready.root", &GuestConfig::root_folder},
    {"gpuready.config", &GuestConfig::config_disk},
};
struct Switch {
  std::string_view key;
  bool GuestConfig::* member;
};
constexpr Switch kSwitches[] = {
    {"HAS_GPU", &GuestConfig::has_gpu},
    {"gpuready.gpu", &GuestConfig::has_gpu},
    {"gpuready.check", &GuestConfig::check},
    {"gpuready.replace", &GuestConfig::replace},
};

bool take(std::string_view key, std::string_view value, GuestConfig& config) {
  for (const auto& text : kTexts)
    if (text.key == key) {
      config.*text.member = value;
      return true;
    }
  for (const auto& one : kSwitches)
    if (one.key == key) {
      config.*one.member = yes(value);
      return true;
    }
  if (key == "gpuready.after") {
    config.poweroff = value == "poweroff";
    return config.poweroff;
  }
  if (key != "gpuready.capabilities") return false;
  config.capabilities.clear();
  for (const auto name : split(value, ",")) {
    const auto capability = named<Capability>(name);
    if (!capability) return false;
    config.capabilities.push_back(*capability);
  }
  return true;
}

}  // namespace

std::vector<std::string> command_line_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false, any = false;
  for (const char c : text) {
    if (c == '"') {
      quoted = !quoted;
      any = true;
    } else if (!quoted && (c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\0')) {
      if (any) words.push_back(std::move(word));
      word.clear();
      any = false;
    } else {
      word += c;
      any = true;
    }
  }
  if (any) words.push_back(std::move(word));
  return words;
}

void read_config(std::string_view text, GuestConfig& config) {
  for (auto& word : command_line_words(text)) {
    if (word == "--") break;  // the rest is the command's
    if (word == "ro" || word == "rw") config.read_only = word == "ro";
    const auto equals = word.find('=');
    const auto key = std::string_view(word).substr(0, equals);
    if (equals != word.npos && !take(key, std::string_view(word).substr(equals + 1), config) &&
        key.starts_with("gpuready."))
      config.unknown.push_back(word);
    config.words.push_back(std::move(word));
  }
}

}  // namespace gpuready::vm
