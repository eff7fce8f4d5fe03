#include "bench/fields_compare.h"
#include "value/write_fields.h"

namespace gpuready::bench {

std::string_view to_string(Kpi kpi) { return name_of(kpi); }
std::string_view to_string(Outcome outcome) { return name_of(outcome); }

Json to_json(const Comparison& comparison) { return value::write_fields(comparison); }

}  // namespace gpuready::bench
