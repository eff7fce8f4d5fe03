// What `ternary verify` found, as a document, as text, and in one sentence.
#pragma once

#include <optional>
#include <string>

#include "report/report.h"
#include "ternary/suite/verify.h"
#include "value/envelope.h"

namespace gpuready {

// Sets the envelope's exit code, conclusion and duration.
void conclude(const ternary::VerifyReport& report, Envelope& envelope);
std::string render_terminal(const ternary::VerifyReport& report, const TerminalStyle& style);

// The subjects, checks and tensors of such a document, as a child process wrote it. Nothing where
// it is not one.
std::optional<ternary::VerifyReport> read_verify_report(const Json& document);
// Adds what a child process found. A tensor is right only where all that multiplied it say so.
void merge(ternary::VerifyReport& report, const ternary::VerifyReport& theirs);

}  // namespace gpuready
