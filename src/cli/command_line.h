// Commands and their options, declared as data. Only command_line.cc knows the library that parses
// them, whose headers take seconds to compile.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace gpuready::cli {

struct Range {
  double least, most;
};

// What a command does with the file that an option names. check_files() keeps it from writing where
// it reads (tests/unit/cli/command_table_test.cc wants this of every option).
enum class Files {
  none,
  read,     // a file, or a folder with all that is in it
  written,  // a file
  kept,     // likewise, in a folder that must exist
  report,   // likewise, by deliver()
};

struct Option {
  const char* name;  // "--json", "--quiet,-q"; "FILE" is positional
  // Where the value goes. A bool is a flag; a list's option may be given several times.
  std::variant<bool*, unsigned*, double*, std::uint64_t*, std::string*, std::optional<int>*,
               std::optional<double>*, std::optional<std::uint64_t>*, std::optional<std::string>*,
               std::vector<std::string>*>
      value;
  std::string help;
  const char* type = nullptr;  // what help calls the value
  std::optional<Range> range = {};
  std::vector<std::string> one_of = {};
  std::vector<std::string> such_as = {};  // completed likewise; other values are accepted, too
  const char* if_bare = nullptr;   // its value when there is none after "="; no other word is one
  const char* excludes = nullptr;  // an option declared before
  const char* needs = nullptr;     // as well
  bool required = false, hidden = false;
  bool commas = false;   // they separate the values of a list
  bool seconds = false;  // a time: "90", "5s", "1h"
  Files files = Files::none;
  // The files that a value means, where they are others than the value names.
  std::vector<std::string> (*files_of)(const std::string& value) = nullptr;
};

struct CommandEntry;
struct CommandSpec {
  std::vector<Option> options = {};
  void add(std::initializer_list<Option> more) {
    options.insert(options.end(), more.begin(), more.end());
  }
  std::function<Result<int>()> run = {};  // gives the exit code
  std::string footer = {};
  std::vector<std::string> reads = {};             // files and folders that no option names
  std::span<const CommandEntry> subcommands = {};  // one of them must be given then
};
struct CommandEntry {
  const char* name;
  const char* summary;
  void (*declare)(CommandSpec&);
  const char* examples;  // two or three command lines without the program's name; "  # why" follows
};

inline constexpr const char* kExitCodesHelp =
    "Exit codes: 0 everything requested holds; 1 something is unhealthy; 2 wrong usage\nor bad "
    "input; 3 something required is absent; 4 undetermined; 130 interrupted\nbefore anything "
    "unhealthy was found.";

// Runs the command that `args` name, and gives its exit code; help, the version and what is wrong
// with `args` are reported instead. Options may stand before the command; without one it is
// `usual`. An empty argument is wrong: it comes from a variable that is not set, and would be taken
// for nothing. `only_parse`: no command is run.
int run_command_line(std::span<const CommandEntry> commands, std::string_view usual,
                     std::vector<std::string> args, bool only_parse = false);

}  // namespace gpuready::cli
