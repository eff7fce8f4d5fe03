#include "jobs/variables.h"

#include <algorithm>
#include <iterator>

namespace gpuready {
namespace {

// docs/security.md, "What programs of others are given", has the same table.
constexpr std::string_view kVariables[] = {
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TERM", "NO_COLOR", "TMPDIR",
    "XDG_CACHE_HOME", "VIRTUAL_ENV", "CONDA_PREFIX",
    // of compilers, which torch.compile and Triton start
    "CC", "CXX", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH",
    // of the loader: folders, not files that it would load into every program
    "LD_LIBRARY_PATH",
    // of builds with sanitizers
    "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS"};
// GPUREADY_LIB*: the libraries that stand for a vendor's, and FAKE_*, by which they are told what
// to play (docs/fakes-and-variables.md).
constexpr std::string_view kBeginnings[] = {"LC_", "GPUREADY_LIB", "GPUREADY_FAKE",
                                            "GPUREADY_STRICT", "FAKE_"};

}  // namespace

bool is_basic_variable(std::string_view name) {
  return std::ranges::find(kVariables, name) != std::end(kVariables) ||
         std::ranges::any_of(kBeginnings, [&](auto begin) { return name.starts_with(begin); });
}

}  // namespace gpuready
