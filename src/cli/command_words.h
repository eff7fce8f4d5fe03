// Which command and which options the words of a command line name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "cli/command_line.h"

namespace gpuready::cli {

const Option* find_option(const CommandSpec& spec, std::string_view word);

// Whether what follows `word` belongs to it: the value of an option of this command.
bool takes_next(const CommandSpec& spec, std::string_view word);
bool takes_next(const CommandEntry& command, std::string_view word);

// The innermost command that the words begin with, and how many they are.
std::pair<CommandSpec, std::size_t> command_of(std::span<const CommandEntry> commands,
                                               std::span<const std::string> words);

}  // namespace gpuready::cli
