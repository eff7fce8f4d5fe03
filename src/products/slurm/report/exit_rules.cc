#include "slurm/report/exit_rules.h"

#include "report/exit_rule_table.h"

namespace gpuready {
namespace {

using namespace exit_rules;
using Hook = SlurmHookReport;

constexpr ExitRule<Hook> kHealth[] = {
    {[](const Hook& r) { return !r.causes.empty(); }, Exit::unhealthy},
    {[](const Hook& r) { return r.unknown || r.slurm_error; }, Exit::unknown},
};

// Slurm drains the node and starts the job elsewhere if it is not 0: only for what is proven.
constexpr ExitRule<Hook> kProlog[] = {
    {[](const Hook& r) { return !r.causes.empty(); }, Exit::unhealthy},
    {[](const Hook& r) { return r.strict && r.unknown; }, Exit::unhealthy},
};

// Slurm drains the node if it is not 0, with a reason of its own: only if we could not.
constexpr ExitRule<Hook> kEpilog[] = {
    {[](const Hook& r) { return !r.causes.empty() && r.slurm_error; }, Exit::unhealthy},
};

constexpr ExitRule<SlurmInstallReport> kInstall[] = {
    {[](const SlurmInstallReport& r) { return !r.taken.empty(); }, Exit::unhealthy},
};

constexpr ExitRule<SlurmDoctorReport> kDoctor[] = {
    {[](const SlurmDoctorReport& r) {
       return any(r.findings, [](const Finding& f) { return f.severity == Severity::error; });
     },
     Exit::unhealthy},
    {[](const SlurmDoctorReport& r) { return r.bus_unread || !r.unseen.empty(); }, Exit::unknown},
};

}  // namespace

Exit exit_of(const SlurmHookReport& report) {
  if (report.hook == "prolog") return first_that_holds(kProlog, report);
  if (report.hook == "epilog") return first_that_holds(kEpilog, report);
  return first_that_holds(kHealth, report);
}
Exit exit_of(const SlurmInstallReport& report) { return first_that_holds(kInstall, report); }
Exit exit_of(const SlurmDoctorReport& report) { return first_that_holds(kDoctor, report); }

}  // namespace gpuready
