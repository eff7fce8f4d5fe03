// The kernel's ring buffer, rendered to lines "<seconds>.<microseconds> text", oldest first.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace gpuready {

// Appends one record of /dev/kmsg (Documentation/ABI/testing/dev-kmsg of the Linux kernel):
// "prio,sequence,microseconds,flags[,...];text\n", then lines of " KEY=value" that are left out.
// Bytes that the kernel escaped as \xNN are put back. A record that is none is left out.
void append_kmsg_record(std::string_view record, std::string& log);
// The text of syslog(2) in the same form: "<6>[   12.345678] text". Without printk.time the kernel
// gives no time, and the lines say 0.000000 as the kernel's own earliest lines do.
std::string kernel_log_from_syslog(std::string_view text);

Result<std::string> read_kernel_log();

}  // namespace gpuready
