// The kernel's ring buffer, rendered to lines "<seconds> text", oldest first. Only what the kernel
// itself wrote is in it. Lines with one time are one record: a message of several lines, whose
// first line alone says who wrote it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace gpuready {

// Appends one record of /dev/kmsg (Documentation/ABI/testing/dev-kmsg of the Linux kernel):
// "prio,sequence,microseconds,flags[,...];text\n", then lines of " KEY=value". Bytes that the
// kernel escaped as \xNN are put back. Left out are records of programs (their facility is not 0),
// those that begin with a PCI device which their DEVICE= does not name, and what is not a record.
void append_kmsg_record(std::string_view record, std::string& log);
// The text of syslog(2) in the same form: "<6>[   12.345678] text". Lines of one record have one
// time; a line without a time cannot be assigned to a record and is left out.
std::string kernel_log_from_syslog(std::string_view text);

Result<std::string> read_kernel_log();

}  // namespace gpuready
