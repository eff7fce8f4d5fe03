#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "cli/command_words.h"
#include "cli/option_text.h"

namespace gpuready::cli {
namespace {

// Bash also breaks words at "=", so its script joins them again.
constexpr std::string_view kBash = R"(_gpuready() {
  local word words=() found
  for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
    if [ ${#words[@]} -gt 0 ] && [[ $word == = || ${words[-1]} == --*= ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
  done
  mapfile -t found < <("${COMP_WORDS[0]}" __complete "${words[@]}" 2>/dev/null)
  COMPREPLY=()
  for word in "${found[@]}"; do
    word=${word%%$'\t'*}
    if [[ $word == :files ]]; then
      compopt -o filenames 2>/dev/null
      word=${words[-1]}
      mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "${word#--*=}")
    elif [[ ${words[-1]} == --*=* ]]; then
      COMPREPLY+=("${word#*=}")
    else
      COMPREPLY+=("$word")
    fi
  done
}
complete -F _gpuready gpuready
)";
constexpr std::string_view kZsh = R"(#compdef gpuready
_gpuready() {
  local line value files=
  local -a found
  for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ $line == :files ]]; then files=1; continue; fi
    value=${line%%$'\t'*}
    if [[ $line == *$'\t'* ]]; then
      found+=("${value//:/\\:}:${line#*$'\t'}")
    elif [[ -n $line ]]; then
      found+=("${value//:/\\:}")
    fi
  done
  [[ ${#found} -eq 0 ]] || _describe -V gpuready found
  if [[ -n $files ]]; then
    compset -P '--*='
    _files
  fi
}
if [ "$funcstack[1]" = _gpuready ]; then _gpuready "$@"; else compdef _gpuready gpuready; fi
)";
constexpr std::string_view kFish = R"(function __gpuready_complete
  set -l words (commandline -opc) (commandline -ct)
  for line in ($words[1] __complete $words[2..-1] 2>/dev/null)
    if test "$line" = :files
      __fish_complete_path (string replace -r -- '^--[^=]*=' '' $words[-1])
    else
      echo $line
    end
  end
end
complete -c gpuready -f -a '(__gpuready_complete)'
)";
constexpr CompletionScript kScripts[] = {
    {"gpuready.bash", kBash}, {"_gpuready", kZsh}, {"gpuready.fish", kFish}};

class Offers {
 public:
  explicit Offers(std::string_view typed) : typed_(typed) {}
  void add(std::string value, std::string_view explanation = {}) {
    if (!value.starts_with(typed_)) return;
    if (!explanation.empty()) value += fmt::format("\t{}", lines(explanation).front());
    if (std::ranges::find(found_, value) == found_.end()) found_.push_back(std::move(value));
  }
  void add_files() { found_.emplace_back(kFilesFollow); }
  // The values of an option; `before` is what precedes them in the word: "--level=".
  void add_values(const Option& option, std::string before) {
    const auto comma = typed_.rfind(',');
    if (option.commas && comma != typed_.npos) before = std::string(typed_.substr(0, comma + 1));
    for (const auto* values : {&option.one_of, &option.such_as})
      for (const std::string& value : *values) add(before + value);
    if (option.files != Files::none) add_files();
  }
  std::vector<std::string> take() { return std::move(found_); }

 private:
  std::string_view typed_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> completions(std::span<const CommandEntry> commands,
                                     std::span<const std::string> words) {
  const std::string typed = words.empty() ? "" : words.back();
  const auto before = words.first(words.empty() ? 0 : words.size() - 1);
  Offers offers(typed);
  const auto [spec, used] = command_of(commands, before);
  if (used == 0) {
    for (const CommandEntry& command : commands) offers.add(command.name, command.summary);
    for (const char* own : {"--help", "--version"}) offers.add(own);
    return offers.take();
  }
  const Option* waiting = before.size() > used && takes_next(spec, before.back())
                              ? find_option(spec, before.back())
                              : nullptr;
  const auto equals = typed.find('=');
  if (typed.starts_with("--") && equals != typed.npos)
    waiting = find_option(spec, std::string_view(typed).substr(0, equals));
  if (waiting != nullptr) {
    offers.add_values(*waiting, typed.starts_with("--") ? typed.substr(0, equals + 1) : "");
    return offers.take();
  }
  for (const CommandEntry& sub : spec.subcommands) offers.add(sub.name, sub.summary);
  for (const Option& option : spec.options) {
    if (option.hidden) continue;
    if (option.name[0] != '-')
      offers.add_values(option, "");
    else if (typed.starts_with('-'))
      for (const std::string_view name : split(option.name, ","))
        offers.add(std::string(name), option.help);
  }
  offers.add("--help");
  return offers.take();
}

int print_completions(std::span<const CommandEntry> commands, std::span<const std::string> words) {
  for (const std::string& line : completions(commands, words)) std::printf("%s\n", line.c_str());
  return 0;
}

std::span<const CompletionScript> completion_scripts() { return kScripts; }

}  // namespace gpuready::cli
