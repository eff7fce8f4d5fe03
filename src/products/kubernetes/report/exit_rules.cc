#include "kubernetes/report/exit_rules.h"

namespace gpuready {

Exit exit_of(const kubernetes::Condition& condition) {
  switch (condition.problem) {
    case kubernetes::Problem::none:
      return Exit::ok;
    case kubernetes::Problem::exists:
      return Exit::unhealthy;
    case kubernetes::Problem::undetermined:
      break;
  }
  return Exit::unknown;
}

}  // namespace gpuready
