// The names of the value types' enumerations.
#pragma once

#include "base/named.h"
#include "gpuready/finding.h"
#include "gpuready/machine.h"
#include "gpuready/obligation.h"
#include "gpuready/verdict.h"

namespace gpuready {

NAMES_OF(Vendor, "nvidia", "amd", "intel", "apple", "other");
NAMES_OF(PathKind, "self", "nvlink", "nvswitch", "xgmi", "same_switch", "multiple_switches",
         "host_bridge", "numa_node", "system", "unknown");
NAMES_OF(Severity, "info", "warning", "error");
NAMES_OF(Action, "none", "check_again", "configure", "reload_driver", "reset_gpu", "reboot",
         "power_cycle", "replace", "ask_host");
NAMES_OF(CureRisk, "harmless", "restarts_service", "ends_processes", "takes_picture", "reboots");
NAMES_OF(CurePlace, "here", "guest", "launcher", "host", "windows", "provider", "firmware",
         "hardware");
NAMES_OF(CureNeeds, "nothing", "root", "free_gpu", "free_machine", "power_off");
NAMES_OF(VerdictStatus, "passed", "failed", "not_tested", "not_supported", "timed_out",
         "inconclusive");
NAMES_OF(ObligationKind, "identity", "integrity", "coverage", "clock", "host_link", "peer_links",
         "health_counters", "burn");
NAMES_OF(ObligationStatus, "held", "degraded", "broken", "not_judged");
NAMES_OF(Duty, "owed", "hidden", "not_owed");

}  // namespace gpuready
