// `fleet slow` for programs and people.
#pragma once

#include <string>

#include "fleet/slow/findings.h"
#include "report/report.h"

namespace gpuready {

std::string render_terminal(const fleet::SlowFindings& findings, const TerminalStyle& style);
std::string render_markdown(const fleet::SlowFindings& findings, const Envelope& envelope);
std::string conclusion_of(const fleet::SlowFindings& findings);

// Of a search that measured after rounds of a file.
struct KeptRounds {
  std::size_t rounds = 0;
  std::string file = {}, before = {};  // when they had been measured
  bool interrupted = false;
};
void note_kept_rounds(fleet::SlowFindings& findings, const KeptRounds& kept);

}  // namespace gpuready
