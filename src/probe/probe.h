// The probe mode of our own executable: `gpuready __probe NAME [arguments] [--stdout]`.
#pragma once

#include <span>
#include <string>

namespace gpuready {

// Asks one vendor's library and writes the wire document (host/probe_document.h) to descriptor 3,
// or to stdout with --stdout. Returns 2 when the name is unknown or there is nowhere to write; else
// it ends the process at once, without a vendor's exit handlers, which may hang on a broken driver.
int run_probe(std::span<const std::string> args);

}  // namespace gpuready
