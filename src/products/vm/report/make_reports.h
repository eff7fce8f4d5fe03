// Makes the reports of `vm list`, `show`, `args`, `doctor` and `drivers`, for the commands and the
// C interface. An error is not_found if what was named is missing.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host/host.h"
#include "vm/named_devices.h"
#include "vm/report/args_report.h"
#include "vm/report/devices_report.h"
#include "vm/report/doctor_report.h"
#include "vm/report/drivers_report.h"
#include "vm/report/upgrade_report.h"

namespace gpuready {

// `all`: every function except bridges.
Result<VmDevices> list_devices(Host& host, bool all = false);

// If `named` is empty, all that `vm list` names. `name`: only those that are attached for it.
Result<VmDevices> show_devices(Host& host, const vm::NamedDevices& named,
                               const std::optional<std::string>& name);

// For what is attached for `name`.
Result<ArgsReport> args_for(Host& host, const std::string& name, vm::Hypervisor hypervisor);

// `side`: "host", "guest" or "auto". A guest is inspected by `inspect_guest`.
Result<VmDoctorReport> diagnose_side(Host& host, const vm::NamedDevices& named,
                                     const std::string& side,
                                     const std::function<Result<Machine>()>& inspect_guest);
Result<VmDoctorReport> diagnose_console(const std::string& path);

// The bundles in `folder`.
Result<DriversReport> list_drivers(Host& host, const std::string& folder);
// One bundle. `verify`: also compares each file with its SHA-256.
Result<DriversReport> show_drivers(Host& host, const std::string& folder, bool verify);

// Tests the report's bundle by itself, with this machine's GPUs, against the bundle that is current
// (`from`), and at last by `program`; makes it the current one if nothing failed.
Result<void> test_and_switch(Host& host, Storage& storage, UpgradeReport& report,
                             const std::optional<std::string>& program,
                             std::chrono::milliseconds deadline);

}  // namespace gpuready
