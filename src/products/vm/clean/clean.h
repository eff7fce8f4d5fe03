// Whether a device that comes back may be given to the next: its memory is overwritten and
// verified, and its checks pass, by `gpuready check` in a child or in a guest.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "gpuready/machine.h"
#include "host/host.h"
#include "vm/clean/test_in_guest.h"

namespace gpuready::vm {

// By a driver of this host. An error says what keeps it in quarantine. `folder`: the journal's.
Result<void> clean(const PciAddress& device, const std::string& folder,
                   std::chrono::milliseconds deadline, Host& host, Storage& storage);

// What the document of that test says of this device.
Result<void> judge(const Json& report, const PciAddress& device);

// In the journal's folder: a bundle, or a link to one.
inline constexpr const char* kCleanBundle = "clean-with";
// There, too: the report of the latest test, if it did not find the device clean.
std::string unclean_report(const std::string& folder, const PciAddress& device);

// The same of the report of a guest, whose only GPU is the device. Of either test, its ECC, MIG and
// confidential computing modes and its VBIOS are compared with those of the report that is kept for
// its UUID. A report of a clean device is kept so; any other as unclean_report().
Result<void> judge_guest(const Json& report, const GuestTest& test, Host& host, Storage& storage);
// The next report is compared with that of the device as it is accepted.
Result<void> accept_report(const std::string& folder, const PciAddress& device, Host& host,
                           Storage& storage);

}  // namespace gpuready::vm
