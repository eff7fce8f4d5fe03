// Exit codes of `gpuready ternary`.
#pragma once

#include <span>

#include "report/exit_rules.h"
#include "ternary/gguf/gguf_convert.h"
#include "ternary/gguf/gguf_inspect.h"
#include "ternary/suite/bench.h"
#include "ternary/suite/verify.h"

namespace gpuready {

Exit exit_of(const ternary::VerifyReport& report);

struct BenchOutcome {
  std::span<const ternary::BenchRow> rows;
  bool tiers_named = false, devices_named = false;  // on the command line
};
Exit exit_of(const BenchOutcome& outcome);

Exit exit_of(const ternary::gguf::FileReport& report);
Exit exit_of(const ternary::gguf::ConvertReport& report);

}  // namespace gpuready
