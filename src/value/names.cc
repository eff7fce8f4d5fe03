#include "value/names.h"

namespace gpuready {

std::string_view to_string(Vendor vendor) { return name_of(vendor); }
std::string_view to_string(PathKind kind) { return name_of(kind); }
std::string_view to_string(Severity severity) { return name_of(severity); }
std::string_view to_string(VerdictStatus status) { return name_of(status); }

}  // namespace gpuready
