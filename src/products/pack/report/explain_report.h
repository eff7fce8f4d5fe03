// What `pack explain` says: each library on each GPU, and the smallest change that would help.
#pragma once

#include <string>
#include <vector>

#include "pack/code/inspect.h"
#include "pack/rules/explain.h"
#include "pack/store/select.h"
#include "report/report.h"
#include "value/envelope.h"

namespace gpuready {

struct ExplainedGpu {
  pack::TargetGpu gpu;
  std::string name;  // "NVIDIA A10 (8.6)"; the capability where nothing else is known
};
struct Explanation {
  std::string path;
  std::vector<ExplainedGpu> gpus;  // each kind once
  pack::Driver driver;
  std::vector<std::string> files;                      // those with device code
  std::vector<std::vector<pack::FileAnswer>> answers;  // by file, then by GPU
  std::vector<std::string> problems;                   // of reading
};
// Of a machine's GPUs each kind once; an error where there is none.
Result<std::vector<ExplainedGpu>> kinds_of(const pack::SelectMachine& machine);
// What is named goes before what the machine says: a named driver's CUDA follows from its version,
// and "12" is CUDA 12.0.
pack::Driver driver_named(const pack::Driver& of_machine, const std::optional<Version>& driver,
                          const std::optional<Version>& cuda);
Explanation explain_all(const pack::Inspection& inspection, std::vector<ExplainedGpu> gpus,
                        const pack::Driver& driver);

std::string render_terminal(const Explanation& explanation, const TerminalStyle& style);

}  // namespace gpuready
