#include "vm/report/args_report.h"

#include "base/text.h"

namespace gpuready {

std::string render_terminal(const ArgsReport& report, const TerminalStyle&) {
  const auto& args = report.args;
  std::string text;
  for (const auto& note : args.notes)
    text += args.xml.empty() ? "# " + note + "\n" : "<!-- " + note + " -->\n";
  text += args.xml;
  if (!args.arguments.empty()) text += join(args.arguments, " ") + "\n";
  return text;
}

}  // namespace gpuready
