#include "bench/fields_promote.h"
#include "value/write_fields.h"

namespace gpuready::bench {

std::string_view to_string(Decision decision) { return name_of(decision); }

Json to_json(const Promotion& promotion) { return value::write_fields(promotion); }

}  // namespace gpuready::bench
