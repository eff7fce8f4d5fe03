// What `pack install` did, as a document and as text.
#pragma once

#include <string>

#include "pack/store/install_best.h"
#include "report/report.h"
#include "value/envelope.h"

namespace gpuready {

using InstallReport = pack::BestInstall;
// Sets the envelope's exit code and conclusion.
void conclude(const InstallReport& report, Envelope& envelope);
// "fetching 412 MiB of 1.0 GiB, 52 MB/s"; the step itself where its size is not known.
std::string progress_text(std::string_view step, std::uint64_t done, std::uint64_t total,
                          double elapsed_ms);
std::string render_terminal(const InstallReport& report, const Envelope& envelope,
                            const TerminalStyle& style);

}  // namespace gpuready
