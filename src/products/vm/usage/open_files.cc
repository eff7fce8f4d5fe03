#include <fmt/format.h>

#include "base/text.h"
#include "vm/inventory.h"

namespace gpuready::vm {
namespace {

// Linux, include/linux/proc_ns.h: PROC_PID_INIT_INO. In another PID namespace, as in most
// containers, the host's processes are not seen.
constexpr std::string_view kFirstNamespace = "pid:[4026531836]";

}  // namespace

// Calls "open(PID)" and "consoles()", each with the list of device files; "place(FILE)";
// "mounts()"; and "processes()", whose value says how many there are, how many refused, and why.
OpenFiles open_files_from(const ProbeDocument& document) {
  OpenFiles out;
  if (document.outcome != ProbeOutcome::completed) {
    out.unseen =
        document.outcome == ProbeOutcome::not_asked || document.outcome == ProbeOutcome::no_library
            ? std::string("open files: not recorded")
            : fmt::format("open files: the probe {}", to_string(document.outcome));
  }
  for (const auto& [call, answer] : document.calls) {
    const auto argument = [&](std::string_view name) {
      const auto rest = after_prefix(call, std::string(name) + "(");
      return rest && rest->ends_with(')') ? std::optional(rest->substr(0, rest->size() - 1))
                                          : std::nullopt;
    };
    const auto each = [&](auto add) {
      if (!answer.ok() || !answer.value.is_array()) return;
      for (const auto& text : answer.value)
        if (text.is_string()) add(text.template get<std::string>());
    };
    if (const auto node = argument("place"); node && answer.value.is_string())
      out.places[std::string(*node)] = answer.value.get<std::string>();
    if (call == "mounts()") each([&](std::string line) { out.mounts.push_back(std::move(line)); });
    const auto text = argument("open");
    const auto pid = call == "consoles()" ? 0 : text ? parse_uint(*text) : std::nullopt;
    if (pid && *pid <= UINT32_MAX)
      each([&](std::string path) {
        out.files.push_back({static_cast<std::uint32_t>(*pid), std::move(path)});
      });
  }
  const auto& summary = document.value("processes()");
  if (const auto& refused = member(summary, "refused");
      refused.is_number_unsigned() && refused.get<std::uint64_t>() > 0) {
    const auto& unread = member(summary, "unread");
    out.unseen = fmt::format("open files of {} {}: {}", refused.get<std::uint64_t>(),
                             refused == 1u ? "process" : "processes",
                             unread.is_string() ? printable(unread.get<std::string>())
                                                : "not permitted; run this as root");
  }
  return out;
}

const ProbeRequest& open_files_request() {
  static const ProbeRequest request{"open-files", {}, std::chrono::seconds(30), true};
  return request;
}

OpenFiles read_open_files(Host& host) {
  const auto documents = host.probe({open_files_request()});
  if (documents.empty())
    return {.files = {}, .places = {}, .mounts = {}, .unseen = "open files: not asked"};
  auto open = open_files_from(documents.front());
  const auto space = host.read_link("/proc/self/ns/pid");
  if (space && *space != kFirstNamespace)
    open.unseen =
        "open files of processes outside this container's PID namespace; run this on the host";
  return open;
}

}  // namespace gpuready::vm
