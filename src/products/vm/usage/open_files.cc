#include <fmt/format.h>

#include "base/text.h"
#include "vm/inventory.h"

namespace gpuready::vm {
namespace {

// Linux, include/linux/proc_ns.h: PROC_PID_INIT_INO. In another PID namespace, as in most
// containers, the host's processes are not seen.
constexpr std::string_view kFirstNamespace = "pid:[4026531836]";

}  // namespace

// Calls "open(PID)", each with the list of device files, and "processes()", whose value says how
// many there are and how many refused.
OpenFiles open_files_from(const ProbeDocument& document) {
  OpenFiles out;
  if (document.outcome != ProbeOutcome::completed) {
    out.unseen =
        document.outcome == ProbeOutcome::not_asked || document.outcome == ProbeOutcome::no_library
            ? std::string("open files: not recorded")
            : fmt::format("open files: the probe {}", to_string(document.outcome));
  }
  for (const auto& [call, answer] : document.calls) {
    const auto rest = after_prefix(call, "open(");
    const auto pid =
        rest && rest->ends_with(')') ? parse_uint(rest->substr(0, rest->size() - 1)) : std::nullopt;
    if (!pid || *pid > UINT32_MAX || !answer.ok() || !answer.value.is_array()) continue;
    for (const auto& path : answer.value)
      if (path.is_string())
        out.files.push_back({static_cast<std::uint32_t>(*pid), path.get<std::string>()});
  }
  const auto& summary = document.value("processes()");
  if (const auto& refused = member(summary, "refused");
      refused.is_number_unsigned() && refused.get<std::uint64_t>() > 0)
    out.unseen = fmt::format("open files of {} {}: not permitted; run this as root",
                             refused.get<std::uint64_t>(), refused == 1u ? "process" : "processes");
  return out;
}

OpenFiles read_open_files(Host& host) {
  const auto documents = host.probe({ProbeRequest{"open-files", {}, std::chrono::seconds(30)}});
  if (documents.empty()) return {{}, "open files: not asked"};
  auto open = open_files_from(documents.front());
  const auto space = host.read_link("/proc/self/ns/pid");
  if (space && *space != kFirstNamespace)
    open.unseen =
        "open files of processes outside this container's PID namespace; run this on the host";
  return open;
}

}  // namespace gpuready::vm
