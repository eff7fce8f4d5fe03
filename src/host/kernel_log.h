// The kernel's ring buffer, rendered to lines "<seconds> text", oldest first. Only what the kernel
// itself wrote is in it. Lines with one time are one record: a message of several lines that all
// begin with its writer's name. Other line breaks in a record are blanks here.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gpuready {

// Appends one record of /dev/kmsg (Documentation/ABI/testing/dev-kmsg of the Linux kernel):
// "prio,sequence,microseconds,flags[,...];text\n", then lines of " KEY=value". Bytes that the
// kernel escaped as \xNN are put back. Left out are records of programs (their facility is not 0),
// those that begin with a PCI device which their DEVICE= does not name, and what is not a record.
void append_kmsg_record(std::string_view record, std::string& log);
// The text of syslog(2) in the same form: "<6>[   12.345678] text", each line of a record with the
// same head. `next_record` tells where the first record begins at or behind an offset; it is asked
// where two lines' heads are equal. A line without a time is left out.
std::string kernel_log_from_syslog(std::string_view text,
                                   const std::function<std::size_t(std::size_t)>& next_record);
// syslog(2) gives the last records that fit whole into its room (syslog_print_all() of the kernel),
// so where its text begins a record begins. Nothing where the log changes faster than it is read.
using ReadLastRecords = std::function<int(std::size_t room, std::string& into)>;
std::optional<std::size_t> next_record(std::string_view text, std::size_t offset,
                                       const ReadLastRecords& read_last);

// What stands before the first ": ", with it: "NVRM: ", "xe 0000:03:00.0: ".
std::string_view writer_of_message(std::string_view text);

Result<std::string> read_kernel_log();

}  // namespace gpuready
