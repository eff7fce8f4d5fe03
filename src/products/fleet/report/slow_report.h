// `fleet slow` for programs and people.
#pragma once

#include <string>

#include "fleet/slow/findings.h"
#include "report/report.h"

namespace gpuready {

std::string render_terminal(const fleet::SlowFindings& findings, const TerminalStyle& style);
std::string render_markdown(const fleet::SlowFindings& findings, const Envelope& envelope);
std::string conclusion_of(const fleet::SlowFindings& findings);

}  // namespace gpuready
