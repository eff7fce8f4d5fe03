// The kernel log, cut to what is about GPUs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gpuready/machine.h"
#include "machine/first_and_last.h"

namespace gpuready {

inline constexpr KeepOfEach kKernelLogKeep{};
inline constexpr std::size_t kKernelLogMostLines =
    (kKernelLogKeep.kinds + 1) * (kKernelLogKeep.first + kKernelLogKeep.last);

// Who wrote a record, and what. The kernel's messages begin with their writer; what a user can have
// written into the log (names of processes, mount options, labels, devices' names) stands behind
// another beginning, or is too short to make a whole one with what must follow it.
struct LogMessage {
  // "NVRM", the driver of "amdgpu 0000:03:00.0: ...", the module of "[drm:function [i915]] ...",
  // "DMAR"; "drm" where the driver is not named, "kernel" where the message has no writer's name.
  std::string_view writer;
  std::string_view text;  // after the device and the driver's own tags: "GPU reset begin!"
};
// Nothing where the line does not begin as one of a driver, a bus or the kernel does.
std::optional<LogMessage> parse_message(std::string_view line);
// Whose driver it is; nothing for the kernel, buses and what drivers of several vendors share.
std::optional<Vendor> vendor_of_writer(std::string_view writer);
// Whether a record that begins with this line is believed, with the lines that follow it.
bool begins_record(std::string_view line);
// Whether a line is a message that begins so: "amdgpu: ring * timeout, signaled seq=". "*" is any
// text without a space, also as the writer. "NVRM: ...some text" may have any text before it; it
// must be longer than the 15 characters of a process's name, which drivers quote.
bool says(const LogMessage& message, std::string_view pattern);
bool says(std::string_view line, std::string_view pattern);

// Whether a rule reads the number that begins at `at`: every other number of a line may be
// anybody's.
bool reads_number(std::string_view line, std::size_t at);

// Reads a log line by line, in memory that does not grow with the log: of lines that differ in
// numbers alone it keeps the first and the last few, and counts those between.
class KernelLogReader {
 public:
  KernelLogReader();
  // "<seconds> text", as Host::kernel_log() gives it, oldest first. What follows the first line of
  // a record, at the same time, is believed only if that line is a driver's, the bus's or the
  // kernel's own, and only if it begins with the same writer. An Xid has one line: what follows is
  // the rest of it, behind a line break in the process's name.
  void line(std::string_view line);
  KernelLog take();

 private:
  void keep(LogLine line);
  void keep_xid();

  // Of the record that is being read: its time; its first line, if that is a message; and once a
  // line of it is about GPUs, its writer and whether it is believed. Without a message it never is.
  std::string record_, first_, writer_;
  std::optional<bool> believed_;
  std::optional<XidEvent> xid_;  // whose rest may follow
  FirstAndLast<LogLine> lines_;
  FirstAndLast<XidEvent> xids_;
};

KernelLog parse_kernel_log(std::string_view text);
// What lines of one kind have in common: the text with numbers left out, but PCI addresses and the
// codes of Xids and SXids kept.
std::string kind_of_line(std::string_view text);
bool is_about_gpus(std::string_view line);
// "NVRM: Xid (PCI:0000:17:00): 79, pid=..., GPU has fallen off the bus." and its older and newer
// forms "NVRM: Xid (0000:17:00): ..." and "NVRM: Xid (PCI:0000:17:00.0 GPU-I:01): ...".
std::optional<XidEvent> parse_xid(std::string_view line);

}  // namespace gpuready
