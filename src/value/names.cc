#include "value/names.h"

namespace gpuready {

std::string_view v0::to_string(Vendor vendor) { return name_of(vendor); }
std::string_view v0::to_string(PathKind kind) { return name_of(kind); }
std::string_view v0::to_string(Severity severity) { return name_of(severity); }
std::string_view v0::to_string(Action action) { return name_of(action); }
std::string_view v0::to_string(CureRisk risk) { return name_of(risk); }
std::string_view v0::to_string(CurePlace place) { return name_of(place); }
std::string_view v0::to_string(CureNeeds needs) { return name_of(needs); }
std::string_view v0::to_string(VerdictStatus status) { return name_of(status); }
std::string_view v0::to_string(ObligationKind kind) { return name_of(kind); }
std::string_view v0::to_string(ObligationStatus status) { return name_of(status); }
std::string_view v0::to_string(Duty duty) { return name_of(duty); }

}  // namespace gpuready
