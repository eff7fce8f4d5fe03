// One result, rendered many ways: terminal, JSON, Markdown, HTML, Prometheus.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "gpuready/finding.h"
#include "gpuready/machine.h"
#include "gpuready/obligation.h"
#include "gpuready/samples.h"
#include "gpuready/verdict.h"
#include "value/envelope.h"

namespace gpuready {

// The report of a machine: of check, test, detect and doctor.
struct Report : Envelope {
  Machine machine;
  std::optional<std::vector<Finding>> findings;  // absent: doctor was not asked
  std::vector<Finding> accepted;                 // not counted, as asked (accept.h)
  std::optional<std::string> level;              // of the tests; absent: nothing was to be tested
  std::optional<std::vector<Verdict>> verdicts;  // absent: nothing was to be tested
  // Set by conclude(): a list for each GPU of the machine, empty for those that owe nothing here.
  std::vector<std::vector<Obligation>> obligations;
  std::optional<Samples> samples;  // absent: nothing was to be sampled
  // Set by conclude(): libraries that variables name answered, so nothing is known of the system's.
  bool by_named_libraries = false;
};

Json to_json(const Report& report);

struct TerminalStyle {
  int columns = 80;
  bool colour = false;
  bool quiet = false;    // conclusion and problems only
  bool unicode = false;  // the locale is UTF-8; else nothing but ASCII is written
};
std::string render_terminal(const Report& report, const TerminalStyle& style);
std::string render_markdown(const Report& report);
std::string render_html(const Report& report);  // one self-contained file
std::string render_prometheus(
    const Report& report);  // text exposition format, for the textfile collector
std::string render_junit(const Report& report);  // XML, for CI systems
// Workflow commands of GitHub Actions, a line each: what is wrong, at most ten errors and warnings.
std::string render_annotations(const Report& report);
// The text in a log of GitHub's, where a line that begins with "::" would be a command to the
// runner.
std::string without_workflow_commands(std::string_view text);

}  // namespace gpuready
