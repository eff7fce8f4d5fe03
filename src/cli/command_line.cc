#include "cli/command_line.h"

#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <sstream>
#include <string_view>
#include <type_traits>

#include "base/closest.h"
#include "base/text.h"
#include "cli/command_words.h"
#include "cli/durations.h"
#include "cli/option_text.h"
#include "cli/options.h"
#include "cli/product.h"
#include "cli/terminal.h"
#include "report/text_layout.h"

namespace gpuready::cli {
namespace {

// What the library takes for a number, and we do not: NaN, -1 for a count.
template <class Value>
CLI::Validator a_number() {
  return {[](std::string& text) -> std::string {
            bool good = true;
            if constexpr (std::is_same_v<Value, double>) good = parse_double(text).has_value();
            if constexpr (std::is_same_v<Value, std::uint64_t>) good = parse_uint(text).has_value();
            return good ? "" : text + " is not a valid number";
          },
          ""};
}

// The checks add nothing to an option's name in the help: its explanation has it all.
constexpr std::string_view kMustBe = ": must be ";
std::string out_of_range(const Option& option, const std::string& typed, double value) {
  if (!option.range || (value >= option.range->least && value <= option.range->most)) return {};
  return fmt::format("{}{}{}", typed, kMustBe, range_text(option));
}
CLI::Validator within(const Option& option) {
  return {[option](std::string& text) -> std::string {
            const auto value = parse_double(text);
            return value ? out_of_range(option, text, *value) : text + " is not a valid number";
          },
          ""};
}

// "2%" becomes "2".
CLI::Validator as_percent() {
  return {[](std::string& text) -> std::string {
            if (text.ends_with('%')) text.pop_back();
            return {};
          },
          ""};
}

// "1h" becomes "3600", which the checks and the library then read.
CLI::Validator as_seconds(const Option& option) {
  return {[option](std::string& text) -> std::string {
            const auto seconds = parse_seconds(text);
            if (!seconds) return text + " is not a time; 90, 5s, 2m and 1h are";
            std::string wrong = out_of_range(option, text, *seconds);
            if (wrong.empty()) text = fmt::format("{}", *seconds);
            return wrong;
          },
          ""};
}

template <class Value>
struct ValueOf {
  using type = Value;
};
template <class Value>
struct ValueOf<std::optional<Value>> {
  using type = Value;
};

template <class Value>
CLI::Option* add_value(CLI::App& app, const Option& option, Value& value) {
  using Plain = typename ValueOf<Value>::type;
  CLI::Option* added = app.add_option(option.name, value, option.help);
  added->check(a_number<Plain>());
  if (option.range && !option.seconds) added->check(within(option));
  return added;
}
CLI::Option* add_value(CLI::App& app, const Option& option, bool& value) {
  return app.add_flag(option.name, value, option.help);
}
CLI::Option* add_value(CLI::App& app, const Option& option, std::vector<std::string>& value) {
  CLI::Option* added = app.add_option(option.name, value, option.help);
  // What follows an option's value may be a file; what follows a file may be another.
  return added->allow_extra_args(option.name[0] != '-');
}

// One screen is 80 columns wide, and says once what a value may be.
class Help : public CLI::Formatter {
 public:
  Help() { column_width(28); }

  std::string make_option(const CLI::Option* option, bool positional) const override {
    return entry(make_option_name(option, positional) + make_option_opts(option),
                 option->get_description());
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    if (option->get_items_expected_max() == 0 || type.empty()) return {};
    return option->get_items_expected_min() == 0 ? "[=" + type + "]" : " " + type;
  }
  std::string make_subcommand(const CLI::App* sub) const override {
    const std::string description = sub->get_description();
    return entry(sub->get_name(), std::string(lines(description).front()));
  }
  std::string make_footer(const CLI::App* app) const override {
    std::string out;
    for (const std::string& paragraph : paragraphs(app->get_footer()))
      for (const std::string& part : wrap(paragraph, kColumns)) out += part + "\n";
    return out;
  }

 private:
  static constexpr std::size_t kColumns = 80;

  // The source's lines end where they are full: a sentence goes on in the next one.
  static std::vector<std::string> paragraphs(const std::string& text) {
    std::vector<std::string> found;
    bool goes_on = false;
    for (const std::string_view line : lines(text)) {
      const bool indented = line.starts_with(' ');
      if (goes_on && !line.empty() && !indented)
        found.back() += " " + std::string(line);
      else
        found.emplace_back(line);
      goes_on = !indented && !line.empty() && !line.ends_with('.') && !line.ends_with(':');
    }
    return found;
  }

  std::string entry(const std::string& name, const std::string& text) const {
    const std::size_t left = get_column_width();
    std::string out = "  " + name;
    if (out.size() + 2 > left && !text.empty()) out += "\n";
    for (const std::string_view paragraph : lines(text))
      for (const std::string& line : wrap(paragraph, kColumns - left)) {
        const std::size_t start = out.rfind('\n') + 1;  // 0 where there is none
        out.append(left - std::min(left, out.size() - start), ' ');
        out += line + "\n";
      }
    return out.ends_with("\n") ? out : out + "\n";
  }
};

void add(CLI::App& app, const Option& option) {
  CLI::Option* added =
      std::visit([&](auto* value) { return add_value(app, option, *value); }, option.value);
  if (option.commas) added->delimiter(',');
  if (option.seconds) added->transform(as_seconds(option));  // before the checks of the number
  if (option.type != nullptr && std::string_view(option.type) == "PERCENT")
    added->transform(as_percent());
  if (option.if_bare != nullptr) added->expected(0, 1)->default_str(option.if_bare);
  if (!option.one_of.empty()) added->check(CLI::IsMember(option.one_of).description(""));
  if (takes_value(option)) added->type_name(value_name(option));
  added->description(explanation(option));
  if (option.excludes != nullptr) added->excludes(app.get_option(option.excludes));
  if (option.needs != nullptr) added->needs(app.get_option(option.needs));
  if (option.hidden) added->group("");
  added->required(option.required);
}

// A word after an option whose value stands after "=", and how it would have to be written there.
struct StrayWord {
  std::string word, meant;
  bool certain = false;  // it can be nothing else: a report that is not there yet
};

std::string not_expected(const StrayWord& stray) {
  return fmt::format("{} was not expected; did you mean {}?", stray.word, stray.meant);
}

std::optional<StrayWord> stray_word(const Option& option, const std::string& name,
                                    const std::string& word) {
  const bool is_json = word.ends_with(".json"), exists = ::access(word.c_str(), F_OK) == 0;
  const bool is_file = option.files != Files::none;
  if (is_file && exists && !is_json) return std::nullopt;  // the command's own input
  return StrayWord{word, name + "=" + word,
                   is_file && is_json && !exists && !contains(word, "://")};
}

// What help begins with.
std::string head(std::string_view summary, std::string_view examples) {
  std::string text = fmt::format("{}\n\nExamples:\n", summary);
  for (const std::string_view line : lines(examples)) text += fmt::format("  gpuready {}\n", line);
  return text;
}

struct Parsing {
  std::optional<StrayWord> stray = {};
  int exit_code = 0;
  bool only_parse = false;
};

void declare(CLI::App& app, const CommandEntry& entry, Parsing& parsing) {
  CommandSpec command;
  entry.declare(command);
  app.description(head(entry.summary, entry.examples));
  for (const Option& option : command.options) add(app, option);
  if (!command.footer.empty()) app.footer(command.footer);
  app.require_subcommand(command.subcommands.empty() ? 0 : 1);
  for (const CommandEntry& sub : command.subcommands)
    declare(*app.add_subcommand(sub.name, sub.summary), sub, parsing);
  if (!command.run) return;
  app.callback([command = std::move(command), &parsing] {  // which keeps the options' values
    if (parsing.only_parse) return;
    auto bad = check_files(command);
    const auto& stray = parsing.stray;
    if (stray && stray->certain) bad = Error{ErrorKind::bad_input, not_expected(*stray)};
    end_at_interrupts();
    const Result<int> done = bad ? std::unexpected(*bad) : command.run();
    parsing.exit_code = done ? *done : complain(done.error());
  });
}

// A value that may be left out is written into its word, so that the library takes none from the
// next; of these only "-" is one, where it says what no value says. Gives the first word that may
// have been meant as a value.
std::optional<StrayWord> close_optional_values(std::span<const CommandEntry> commands,
                                               std::vector<std::string>& args) {
  std::optional<StrayWord> stray;
  const auto [spec, used] = command_of(commands, args);
  for (std::size_t i = used; i < args.size() && args[i] != "--"; ++i) {
    const Option* option = find_option(spec, args[i]);
    if (option == nullptr || option->if_bare == nullptr) {
      i += takes_next(spec, args[i]);
      continue;
    }
    const bool follows = i + 1 < args.size();
    if (follows && args[i + 1] == "-" && option->if_bare == args[i + 1])
      args.erase(args.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    else if (follows && !stray && !args[i + 1].starts_with('-'))
      stray = stray_word(*option, args[i], args[i + 1]);
    args[i] += std::string("=") + option->if_bare;
  }
  return stray;
}

// "help doctor" is "doctor --help", and "version" is "--version".
void as_options(std::vector<std::string>& args) {
  if (args.empty()) return;
  if (args.front() == "version") args.front() = "--version";
  if (args.front() != "help") return;
  args.erase(args.begin());
  args.emplace_back("--help");
}

void put_command_first(std::span<const CommandEntry> commands, std::string_view usual,
                       std::vector<std::string>& args) {
  constexpr std::string_view kOwn[] = {"-h", "--help", "--version", "-V"};
  if (!args.empty() && !args.front().starts_with("-")) return;
  for (const auto own : kOwn)
    if (args.size() == 1 && args.front() == own) return;
  const auto command = std::ranges::find_if(args, [&](const std::string& word) {
    const auto known = std::ranges::find(commands, word, &CommandEntry::name);
    return known != commands.end() && (&word == &args.front() || !takes_next(*known, *(&word - 1)));
  });
  if (command == args.end())
    args.emplace(args.begin(), usual);
  else
    std::rotate(args.begin(), command, command + 1);
}

std::vector<std::string> subcommands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string no_such(std::string_view what, const std::string& word,
                    const std::vector<std::string>& words) {
  return fmt::format("there is no such {}: {}{}", what, word,
                     did_you_mean(word.substr(0, word.find('=')), words));
}

// The command whose words are left over: the innermost that was named.
const CLI::App& innermost(const CLI::App& app) {
  const auto named = app.get_subcommands();
  return named.empty() ? app : innermost(*named.front());
}

// As CLI11 has it, but what is missing may only have been misspelt, and what is left over may be
// there because of a stray word.
std::string failure(const CLI::App* app, const CLI::Error& error,
                    const std::optional<StrayWord>& stray) {
  const auto rest = app->remaining(true);
  const CLI::App& inner = innermost(*app);
  std::string text = error.what();
  // An ExtrasError has the command's name instead of its own.
  const int code = error.get_exit_code();
  const bool left_over = code == static_cast<int>(CLI::ExitCodes::ExtrasError) ||
                         code == static_cast<int>(CLI::ExitCodes::RequiredError);
  // "--valid: 0: must be ..." begins with what was typed.
  if (const auto colon = text.find(": "); text.find(kMustBe) > colon && text.contains(kMustBe))
    text.erase(colon, 1);
  if (left_over) {
    const std::string word = rest.empty() ? "" : rest.front();
    if (word.starts_with("-"))
      text = no_such("option", word, options_of(inner));
    else if (!word.empty() && inner.get_require_subcommand_min() > 0)
      text = no_such("subcommand", word, subcommands_of(inner));
    else if (stray && (stray->certain || !word.empty()))
      text = not_expected(*stray);
  }
  return fmt::format("gpuready: {}\ngpuready: run with --help for more information\n",
                     printable(text));
}

// An option with an empty value, or an empty argument.
const std::string* empty_one(const std::vector<std::string>& args) {
  const auto found = std::ranges::find_if(args, [](const std::string& word) {
    return word.empty() || (word.starts_with("--") && word.ends_with("="));
  });
  return found == args.end() ? nullptr : &*found;
}

}  // namespace

int run_command_line(std::span<const CommandEntry> commands, std::string_view usual,
                     std::vector<std::string> args, bool only_parse) {
  if (const std::string* empty = empty_one(args))
    return complain(Error{ErrorKind::bad_input, "an argument is empty (\"" + printable(*empty) +
                                                    "\"): is a variable not set?"});
  as_options(args);
  const auto left_out = left_out_products();
  if (!args.empty() && std::ranges::find(left_out, args.front()) != left_out.end())
    return complain(
        Error{ErrorKind::bad_input,
              fmt::format("this gpuready was built without \"{0}\"; install a build that "
                          "has it, or build one: cmake -DGPUREADY_ONLY=\"core;{0}\"",
                          args.front())});
  Parsing parsing{.only_parse = only_parse};
  CLI::App app{head("gpuready: is every GPU in this machine ready for work?",
                    "check          # tests each GPU for about 2 s; exit code 0: all ready\n"
                    "doctor         # what is wrong, and what to do\n"
                    "check --help   # examples and options of one command"),
               "gpuready"};
  app.set_version_flag("--version,-V", "gpuready " GPUREADY_VERSION GPUREADY_VERSION_NOTES);
  app.require_subcommand(1);
  app.formatter(std::make_shared<Help>());  // subcommands inherit it
  app.footer(kExitCodesHelp);
  put_command_first(commands, usual, args);
  for (const CommandEntry& command : commands) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    if (args.front() == command.name) declare(*sub, command, parsing);  // all cost half a ms
  }
  parsing.stray = close_optional_values(commands, args);
  app.failure_message([&](const CLI::App* at, const CLI::Error& error) {
    return failure(at, error, parsing.stray);
  });
  std::vector<std::string> reversed(args.rbegin(), args.rend());  // as CLI11 wants them
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    // Help and version succeed; everything else is wrong usage.
    std::ostringstream out;
    const bool good = app.exit(error, out, std::cerr) == 0;
    const bool printed = print(out.str());
    return static_cast<int>(good && printed ? Exit::ok : Exit::usage);
  }
  return parsing.exit_code;
}

}  // namespace gpuready::cli
