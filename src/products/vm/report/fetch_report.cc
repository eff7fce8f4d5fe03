#include "vm/report/fetch_report.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"
#include "report/terminal/terminal_text.h"

namespace gpuready {

std::string render_terminal(const FetchReport& report, const TerminalStyle& style) {
  const auto& driver = report.driver;
  TerminalText out(style);
  if (!driver.problem.empty())
    out.paragraph(0, {"wrong: ", Ink::bad}, driver.problem + "; no bundle can be made of it");
  if (style.quiet) return out.take();
  for (const auto& licence : driver.licences) {
    out.heading(licence.path);
    for (const auto line : lines(licence.text))
      trim(line).empty() ? out.blank() : out.paragraph(0, {""}, line);
    out.blank();
  }
  out.paragraph(0, {""},
                fmt::format("{}: {}, {}, SHA-256 as given", driver.path,
                            driver.was_there ? "was there already" : "fetched",
                            format_bytes(driver.size_bytes)));
  if (!driver.problem.empty()) return out.take();
  if (driver.licences.empty())
    out.paragraph(0, {"note: ", Ink::warn},
                  "There is no licence in it. Ask who publishes it what you may do with it.");
  else
    out.paragraph(
        0, {"note: ", Ink::warn},
        "Who makes a bundle of it accepts the licence above. It decides whether its files "
        "may be passed on to others.");
  out.command(2, fmt::format("gpuready vm drivers collect {} -o BUNDLE", driver.path));
  return out.take();
}

}  // namespace gpuready
