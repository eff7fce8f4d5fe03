#include "cli/command_words.h"

#include <algorithm>

#include "base/text.h"
#include "cli/option_text.h"

namespace gpuready::cli {

const Option* find_option(const CommandSpec& spec, std::string_view word) {
  const auto found = std::ranges::find_if(spec.options, [&](const Option& option) {
    const auto names = split(option.name, ",");
    return word.starts_with('-') && std::ranges::find(names, word) != names.end();
  });
  return found == spec.options.end() ? nullptr : &*found;
}

bool takes_next(const CommandSpec& spec, std::string_view word) {
  const Option* option = find_option(spec, word);
  return option != nullptr && option->if_bare == nullptr && takes_value(*option);
}
bool takes_next(const CommandEntry& command, std::string_view word) {
  CommandSpec spec;
  command.declare(spec);
  return takes_next(spec, word);
}

std::pair<CommandSpec, std::size_t> command_of(std::span<const CommandEntry> commands,
                                               std::span<const std::string> words) {
  std::pair<CommandSpec, std::size_t> found;
  auto& [spec, used] = found;
  for (; used < words.size(); ++used) {
    const auto entry = std::ranges::find(commands, words[used], &CommandEntry::name);
    if (entry == commands.end()) break;
    spec = {};
    entry->declare(spec);
    commands = spec.subcommands;
  }
  return found;
}

}  // namespace gpuready::cli
