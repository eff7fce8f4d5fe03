// Names under which AMD's user space installs its libraries: one place for whoever loads them. The
// number is the major version of HIP's interface (ROCm's release 4 to 7).
#pragma once

#include <initializer_list>

namespace gpuready {

inline constexpr const char* kHipLibrary = "libamdhip64.so.7";
inline constexpr std::initializer_list<const char*> kOtherHipLibraries = {
    "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so.4", "libamdhip64.so",
    "/opt/rocm/lib/libamdhip64.so"};
// When set, it names the only file that is tried.
inline constexpr const char* kHipLibraryVariable = "GPUREADY_HIP_LIBRARY";

}  // namespace gpuready
