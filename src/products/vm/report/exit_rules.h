// Exit codes of `gpuready vm`.
#pragma once

#include "report/exit_rules.h"
#include "vm/report/devices_report.h"
#include "vm/report/doctor_report.h"
#include "vm/report/drivers_report.h"
#include "vm/report/fetch_report.h"
#include "vm/report/upgrade_report.h"

namespace gpuready {

Exit exit_of(const VmDevices& devices);
Exit exit_of(const DriversReport& report);
Exit exit_of(const CompatReport& report);
Exit exit_of(const FetchReport& report);
Exit exit_of(const UpgradeReport& report);
Exit exit_of(const VmDoctorReport& report);

// Operations on devices for virtual machines.
struct VmTally {
  bool absent = false;      // what was named is not here
  bool refused = false;     // the plan cannot be carried out
  bool failed = false;      // a step failed
  bool unfinished = false;  // and not all could be taken back, or an earlier one did not end
  bool unclean = false;     // a device is in quarantine
};
Exit exit_of(const VmTally& tally);

// If a step failed and was taken back, exit_of_error() does not fit; here 4 says that another
// operation runs.
Exit exit_of_vm_error(const Error& error);
// Of a bundle that is collected or switched to; 4 says that another upgrade runs.
Exit exit_of_bundle_error(const Error& error);

}  // namespace gpuready
