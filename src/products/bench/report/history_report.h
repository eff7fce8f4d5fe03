// `bench history` for programs and people.
#pragma once

#include <string>

#include "bench/history/history.h"
#include "report/report.h"

namespace gpuready {

std::string render_terminal(const bench::History& history, const TerminalStyle& style);
std::string render_markdown(const bench::History& history, const Envelope& envelope);
std::string conclusion_of(const bench::History& history);

}  // namespace gpuready
