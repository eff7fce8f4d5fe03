#include "cli/man_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "cli/completion.h"
#include "cli/option_text.h"
#include "cli/options.h"

namespace gpuready::cli {
namespace {

// Text as man(7) wants it: no backslash or hyphen of its own, no line that looks like a request.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (out.empty() || out.back() == '\n')
      if (c == '.' || c == '\'') out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

bool is_named(const Option& option) { return option.name[0] == '-'; }

// "--quiet, -q", "--json[=FILE]": what is typed.
std::string tag(const Option& option) {
  if (!is_named(option)) return fmt::format("\\fI{}\\fR", roff(option.name));
  std::vector<std::string> names;
  for (const std::string_view name : split(option.name, ","))
    names.push_back(fmt::format("\\fB{}\\fR", roff(name)));
  std::string text = join(names, ", ");
  if (!takes_value(option)) return text;
  const std::string value = fmt::format("\\fI{}\\fR", roff(value_name(option)));
  return text + (option.if_bare != nullptr ? "[=" + value + "]" : " " + value);
}

std::string head(const std::string& name, std::string_view summary) {
  return fmt::format(".TH {} 1 \"\" \"gpuready " GPUREADY_VERSION
                     "\" \"User Commands\"\n.SH NAME\n{} \\- {}\n",
                     roff(name), roff(name), roff(summary));
}

std::string tail(std::string_view exit_codes, const std::string& see_also) {
  return fmt::format(".SH EXIT STATUS\n{}\n.SH SEE ALSO\n{}\n", roff(exit_codes), see_also);
}

// A name, as another page refers to it.
std::string reference(std::string_view name) { return fmt::format("\\fB{}\\fR(1)", roff(name)); }

struct Writer {
  std::vector<Page> made = {};

  void command(const std::string& parent, const CommandEntry& entry) {
    CommandSpec spec;
    entry.declare(spec);
    const std::string name = parent + "-" + entry.name;
    std::string typed = name, text = head(name, entry.summary);
    for (char& c : typed)
      if (c == '-' && &c < typed.data() + parent.size() + 1) c = ' ';
    text += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR", roff(typed));
    text += spec.subcommands.empty() ? " [\\fIOPTION\\fR]..." : " \\fICOMMAND\\fR";
    for (const Option& option : spec.options)
      if (!is_named(option)) text += option.required ? " " + tag(option) : " [" + tag(option) + "]";
    text += "\n";
    if (!spec.options.empty()) text += ".SH OPTIONS\n";
    for (const Option& option : spec.options) {
      if (option.hidden) continue;
      text += fmt::format(".TP\n{}\n{}\n", tag(option), roff(explanation(option)));
    }
    if (!spec.subcommands.empty()) text += ".SH COMMANDS\n";
    for (const CommandEntry& sub : spec.subcommands)
      text += fmt::format(".TP\n{}\n{}\n", reference(name + "-" + sub.name), roff(sub.summary));
    text += ".SH EXAMPLES\n.nf\n.in 2n\n";  // as wide as in the help
    for (const std::string_view line : lines(entry.examples))
      text += roff(fmt::format("gpuready {}\n", line));
    text += ".in\n.fi\n";
    const std::string_view footer = spec.footer;
    const std::size_t codes = std::min(footer.find("Exit codes: "), footer.size());
    if (codes > 0) text += fmt::format(".SH NOTES\n{}\n", roff(footer.substr(0, codes)));
    text += tail(codes < footer.size() ? footer.substr(codes) : kExitCodesHelp, reference(parent));
    made.push_back({name + ".1", std::move(text)});
    for (const CommandEntry& sub : spec.subcommands) command(name, sub);
  }
};

}  // namespace

std::vector<Page> pages(std::span<const CommandEntry> commands) {
  Writer writer;
  std::string all;
  std::string text = head("gpuready", "is every GPU in this machine ready for work?");
  text +=
      ".SH SYNOPSIS\n\\fBgpuready\\fR [\\fICOMMAND\\fR] [\\fIOPTION\\fR]...\n.SH OPTIONS\n"
      ".TP\n\\fB\\-\\-version\\fR, \\fB\\-V\\fR\nPrint the version\n.SH COMMANDS\n";
  for (const CommandEntry& entry : commands) {
    const std::string name = fmt::format("gpuready-{}", entry.name);
    text += fmt::format(".TP\n{}\n{}\n", reference(name), roff(entry.summary));
    all += fmt::format("{}{}", all.empty() ? "" : ", ", reference(name));
    writer.command("gpuready", entry);
  }
  writer.made.push_back({"gpuready.1", text + tail(kExitCodesHelp, all)});
  for (const CompletionScript& script : completion_scripts())
    writer.made.push_back({std::string(script.file), std::string(script.text)});
  return std::move(writer.made);
}

int print_pages(std::span<const CommandEntry> commands, std::span<const std::string> args) {
  for (const Page& page : pages(commands)) {
    if (args.empty()) std::printf("%s\n", page.file.c_str());
    if (!args.empty() && page.file == args.front())
      return std::fwrite(page.text.data(), 1, page.text.size(), stdout) == page.text.size() ? 0 : 4;
  }
  return args.empty() ? 0 : static_cast<int>(Exit::usage);
}

}  // namespace gpuready::cli
