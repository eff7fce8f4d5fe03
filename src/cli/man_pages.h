// Manual pages from the commands' options as data, and the shells' completion.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/command_line.h"

namespace gpuready::cli {

struct Page {
  std::string file;  // "gpuready-check.1", in the format of man(7), or a completion_scripts()
  std::string text;
};

// One page for the program and one for each command and subcommand, and the completion scripts.
std::vector<Page> pages(std::span<const CommandEntry> commands);

// `gpuready __pages`: prints the files' names; `gpuready __pages FILE`: that file. Gives the exit
// code.
int print_pages(std::span<const CommandEntry> commands, std::span<const std::string> args);

}  // namespace gpuready::cli
