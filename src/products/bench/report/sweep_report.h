// How the stacks' times go with one size of the workload, in the forms of `bench report`.
#pragma once

#include <string>

#include "bench/compare/sweep.h"
#include "report/terminal/terminal_text.h"

namespace gpuready {

std::string html_sweep(const bench::Sweep& sweep);
std::string markdown_sweep(const bench::Sweep& sweep);
void print_sweep(TerminalText& text, const bench::Sweep& sweep);

}  // namespace gpuready
