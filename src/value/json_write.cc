#include "value/fields.h"
#include "value/json.h"
#include "value/write_fields.h"

namespace gpuready {

Json to_json(const Machine& machine) { return value::write_fields(machine); }
Json to_json(const Finding& finding) { return value::write_fields(finding); }
Json to_json(const Verdict& verdict) { return value::write_fields(verdict); }
Json to_json(const Samples& samples) { return value::write_fields(samples); }

}  // namespace gpuready
