// The documents of `slurm`.
#include "slurm/report/fields.h"

namespace gpuready {

template Json to_json(const SlurmHookReport&, const Envelope&);
template Json to_json(const SlurmInstallReport&, const Envelope&);
template Json to_json(const SlurmDoctorReport&, const Envelope&);

}  // namespace gpuready
