// One result, rendered many ways: terminal, JSON, Markdown, HTML, Prometheus.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "gpuready/finding.h"
#include "gpuready/machine.h"
#include "gpuready/samples.h"
#include "gpuready/verdict.h"

namespace gpuready {

// Exit codes of every command (docs/exit-codes in README): the one place where they are named.
enum class Exit : int {
  ok = 0,               // all that was asked holds
  unhealthy = 1,        // something is unhealthy, or a GPU is on the bus but unusable
  usage = 2,            // wrong usage or bad input
  required_absent = 3,  // what --require-gpu demanded is not there
  unknown = 4,          // it could not be found out
};

struct Report {
  std::string command;  // "check", "detect", "doctor"
  std::string tool_version;
  std::string created_utc;
  Machine machine;
  std::optional<std::vector<Finding>> findings;  // absent: doctor was not asked
  std::optional<std::vector<Verdict>> verdicts;  // absent: nothing was to be tested
  std::optional<Samples> samples;                // absent: nothing was to be sampled
  std::optional<std::string> conclusion;  // one sentence, e.g. "2 of 2 GPUs are ready for work."
  std::vector<std::string> notes;         // told before the rest, e.g. why no GPU was tested
  Exit exit = Exit::ok;
  double duration_ms = 0;
};

Json to_json(const Report& report);  // schema/report.schema.json

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

}  // namespace gpuready
