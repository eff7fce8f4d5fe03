// The documents of `vm`.
#include "vm/report/fields.h"

namespace gpuready {

template Json to_json(const VmDevices&, const Envelope&);
template Json to_json(const ArgsReport&, const Envelope&);
template Json to_json(const HotPlugReport&, const Envelope&);
template Json to_json(const InitrdOutcome&, const Envelope&);
template Json to_json(const VmDoctorReport&, const Envelope&);
template Json to_json(const DriversReport&, const Envelope&);
template Json to_json(const CompatReport&, const Envelope&);
template Json to_json(const FetchReport&, const Envelope&);
template Json to_json(const VmOperation&, const Envelope&);
template Json to_json(const VmStatus&, const Envelope&);
template Json to_json(const UpgradeReport&, const Envelope&);

}  // namespace gpuready
