// `bench promote` for programs and people.
#pragma once

#include <string>

#include "bench/compare/promote.h"
#include "report/report.h"

namespace gpuready {

std::string render_terminal(const bench::Promotion& promotion, const Envelope& envelope,
                            const TerminalStyle& style);
// The evidence, for a backlog.
std::string render_markdown(const bench::Promotion& promotion, const Envelope& envelope);
std::string conclusion_of(const bench::Promotion& promotion);

}  // namespace gpuready
