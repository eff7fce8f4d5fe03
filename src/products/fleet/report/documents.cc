// The documents of `fleet`.
#include "fleet/fields_fleet.h"
#include "value/fields.h"

namespace gpuready {

template Json to_json(const fleet::Fleet&, const Envelope&);

}  // namespace gpuready
