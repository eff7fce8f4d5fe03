// Every Xid that NVIDIA's driver reports: what it means and what to do about it.
//
// Facts, in the order in which they were trusted (read November 2026; the words are ours):
// - NVIDIA's "Xid Errors": the catalog for Ampere and newer (codes 1 to 172, with an action for
//   most), and the archived list (1 to 143), whose causes stand where the catalog says "unused".
// - nverror.h of NVIDIA's open-gpu-kernel-modules 595.45.04 (up to 176), and what logs them there.
// - The driver's ras_events source of 2026 (177), NVIDIA's "GPU Operational Events" for R620 (185).
// - leptonai/gpud of August 2026 (173 codes, and NVIDIA's "GPU Debug Guidelines" as quoted there),
//   DCGM's health tests and AzNHC, to compare.
// Where NVIDIA gives no action (162 to 177 in part, 185), the nearest relative's action stands: no
// published list has one for 173 to 177 and 185.
//
// For 144 to 150 the log line itself says "Fatal" or "Nonfatal": believe it over `fatal`, which is
// the worst case. For 154 the text after "to" is the action; "None" means that all is well again.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "gpuready/finding.h"

namespace gpuready {

enum class XidClass : std::uint8_t {
  hardware,
  driver,
  application,
  memory,
  link,  // PCIe, NVLink, C2C
  thermal_power,
  firmware,
  informational,
  unused
};

enum class XidAction : std::uint8_t {
  none,
  watch,
  restart_app,
  reset_gpu,
  reboot,
  check_hardware,
  contact_vendor,
  update_software,
  check_power_thermal,
  check_link,
  follow_recovery_action,
  follow_other_xid
};

struct XidEntry {
  int code;
  std::string_view name;     // short standard name, e.g. "GPU has fallen off the bus"
  std::string_view meaning;  // one plain sentence, at most 120 characters
  XidClass klass;
  XidAction action;
  bool fatal;  // work on this GPU cannot go on, or its results cannot be trusted, until the action
               // is done
};

std::span<const XidEntry> xid_table();  // ascending by code
const XidEntry* find_xid(int code);     // nullptr when unknown
// NVLink 5's events say in their text how grave they are; a process's name may stand before it.
bool is_nonfatal(std::string_view line);
// The line of an Xid 154 says that the driver asks for no action any more: "... to 0x0 (None)".
bool needs_no_recovery(std::string_view line);
// How grave an Xid is by itself; the lines of NVLink's and of 154 say more than their codes.
Severity xid_severity(int code, std::string_view line);
std::string_view to_string(XidClass klass);
std::string_view describe(XidAction action);  // a phrase for people, e.g. "reboot the machine"
Action action_of(const XidEntry& entry);

}  // namespace gpuready
