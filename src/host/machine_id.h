// Which machine, and which boot of it, a report is of.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/host.h"

namespace gpuready {

// A stable name for this machine that does not give /etc/machine-id away, which is to stay secret
// (machine-id(5)): its HMAC under a key of our own, as sd_id128_get_machine_app_specific(3) does
// it. 32 hexadecimal digits; nothing where the machine has no id, as in many containers.
std::optional<std::string> machine_id(Host& host);
std::optional<std::string> app_specific_id(std::string_view machine_id_text);

// /proc/sys/kernel/random/boot_id, without its hyphens.
std::optional<std::string> boot_id(Host& host);

}  // namespace gpuready
