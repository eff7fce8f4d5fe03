// `bench history` for programs and people.
#pragma once

#include <string>

#include "bench/history/history.h"
#include "report/report.h"

namespace gpuready {

std::string render_terminal(const bench::History& history, const TerminalStyle& style);
std::string render_markdown(const bench::History& history, const Envelope& envelope);
std::string render_html(const bench::History& history, const Envelope& envelope);
std::string html_history(const bench::History& history);  // its sections, of a page of others too
std::string conclusion_of(const bench::History& history);
std::string work_text(const bench::Series& series);  // "mlp batch=64 hidden=2048, fp16, cuda"
std::string step_text(const bench::Series& series, const bench::Step& step);

}  // namespace gpuready
