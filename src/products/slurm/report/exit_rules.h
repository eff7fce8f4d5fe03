// Exit codes of `gpuready slurm`.
#pragma once

#include "report/exit_rules.h"
#include "slurm/report/hook_report.h"
#include "slurm/report/setup_report.h"

namespace gpuready {

Exit exit_of(const SlurmHookReport& report);
Exit exit_of(const SlurmInstallReport& report);
Exit exit_of(const SlurmDoctorReport& report);

}  // namespace gpuready
