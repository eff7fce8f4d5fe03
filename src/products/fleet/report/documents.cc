// The documents of `fleet`.
#include "fleet/fields_fleet.h"
#include "fleet/report/slow_fields.h"
#include "value/fields.h"

namespace gpuready {

template Json to_json(const fleet::Fleet&, const Envelope&);
template Json to_json(const fleet::SlowFindings&, const Envelope&);

}  // namespace gpuready
