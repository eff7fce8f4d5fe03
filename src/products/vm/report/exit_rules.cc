#include "vm/report/exit_rules.h"

#include "report/exit_rule_table.h"

namespace gpuready {
namespace {

using namespace exit_rules;

constexpr ExitRule<DriversReport> kDrivers[] = {
    {[](const DriversReport& r) { return !r.problems.empty(); }, Exit::unhealthy},
};

constexpr ExitRule<FetchReport> kFetch[] = {
    {[](const FetchReport& r) { return !r.driver.problem.empty(); }, Exit::unhealthy},
};

constexpr ExitRule<UpgradeReport> kUpgrade[] = {
    {[](const UpgradeReport& r) { return !r.switched; }, Exit::unhealthy},
};

constexpr ExitRule<CompatReport> kCompat[] = {
    {[](const CompatReport& r) { return r.cuda.fit == vm::CudaFit::too_old; }, Exit::unhealthy},
    {[](const CompatReport& r) {
       return any(r.image_libraries, [&](const vm::ImageLibrary& library) {
         return !library.compat && library.version != r.cuda.driver_version;
       });
     },
     Exit::unhealthy},
    {[](const CompatReport& r) { return r.gpu && r.gpu->served == false; }, Exit::unhealthy},
    {[](const CompatReport& r) {
       return r.cuda.fit == vm::CudaFit::unknown || (r.gpu && !r.gpu->served);
     },
     Exit::unknown},
};

constexpr ExitRule<VmDevices> kVmDevices[] = {
    {[](const VmDevices& d) { return d.inventory.bus_unread.has_value(); }, Exit::unknown},
};

constexpr ExitRule<VmDoctorReport> kVmDoctor[] = {
    {[](const VmDoctorReport& r) {
       return any(r.findings, [](const Finding& f) { return f.severity == Severity::error; });
     },
     Exit::unhealthy},
    {[](const VmDoctorReport& r) { return r.bus_unread.has_value(); }, Exit::unknown},
    {[](const VmDoctorReport& r) {
       return r.console && r.console->state == vm::ConsoleState::unknown;
     },
     Exit::unknown},
};

constexpr ExitRule<VmTally> kVm[] = {
    {[](const VmTally& t) { return t.unfinished; }, Exit::unknown},
    {[](const VmTally& t) { return t.absent; }, Exit::required_absent},
    {[](const VmTally& t) { return t.refused || t.failed || t.unclean; }, Exit::unhealthy},
};

constexpr ExitRule<Error> kVmError[] = {
    {[](const Error& e) { return e.kind == ErrorKind::cancelled; }, Exit::interrupted},
    {[](const Error& e) { return e.kind == ErrorKind::not_found; }, Exit::required_absent},
    {[](const Error& e) { return e.kind == ErrorKind::busy; }, Exit::unknown},
    {[](const Error& e) {
       return e.kind == ErrorKind::bad_input || e.kind == ErrorKind::no_permission;
     },
     Exit::usage},
    {[](const Error&) { return true; }, Exit::unhealthy},
};

constexpr ExitRule<Error> kBundleError[] = {
    {[](const Error& e) { return e.kind == ErrorKind::cancelled; }, Exit::interrupted},
    {[](const Error& e) { return e.kind == ErrorKind::busy; }, Exit::unknown},
    {[](const Error&) { return true; }, Exit::usage},
};

}  // namespace

Exit exit_of(const VmDevices& devices) { return first_that_holds(kVmDevices, devices); }
Exit exit_of(const VmTally& tally) { return first_that_holds(kVm, tally); }
Exit exit_of(const DriversReport& report) { return first_that_holds(kDrivers, report); }
Exit exit_of(const FetchReport& report) { return first_that_holds(kFetch, report); }
Exit exit_of(const UpgradeReport& report) { return first_that_holds(kUpgrade, report); }
Exit exit_of(const CompatReport& report) { return first_that_holds(kCompat, report); }
Exit exit_of(const VmDoctorReport& report) { return first_that_holds(kVmDoctor, report); }
Exit exit_of_vm_error(const Error& error) { return first_that_holds(kVmError, error); }
Exit exit_of_bundle_error(const Error& error) { return first_that_holds(kBundleError, error); }

}  // namespace gpuready
