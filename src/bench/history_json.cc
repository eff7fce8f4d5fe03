#include "bench/fields_history.h"
#include "value/write_fields.h"

namespace gpuready::bench {

Json to_json(const History& history) { return value::write_fields(history); }

}  // namespace gpuready::bench
