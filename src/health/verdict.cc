#include "gpuready/verdict.h"

namespace gpuready {

std::string_view to_string(VerdictStatus status) {
  switch (status) {
    case VerdictStatus::passed:
      return "passed";
    case VerdictStatus::failed:
      return "failed";
    case VerdictStatus::not_tested:
      return "not_tested";
    case VerdictStatus::not_supported:
      return "not_supported";
    case VerdictStatus::timed_out:
      return "timed_out";
    case VerdictStatus::inconclusive:
      return "inconclusive";
  }
  return "inconclusive";
}

}  // namespace gpuready
