// Completion of a command line in bash, zsh and fish: their scripts ask the program itself, so what
// they offer is what its options' data say.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.h"

namespace gpuready::cli {

// What can replace the last word, each with a tab and its explanation, if it has one.
// kFilesFollow: also names of files.
inline constexpr std::string_view kFilesFollow = ":files";
std::vector<std::string> completions(std::span<const CommandEntry> commands,
                                     std::span<const std::string> words);

// `gpuready __complete WORD...` prints them. Gives the exit code.
int print_completions(std::span<const CommandEntry> commands, std::span<const std::string> words);

// A shell's script, and the file's name by which the shell finds it.
struct CompletionScript {
  std::string_view file, text;
};
std::span<const CompletionScript> completion_scripts();

}  // namespace gpuready::cli
