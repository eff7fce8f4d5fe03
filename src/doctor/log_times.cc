#include "doctor/log_times.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "doctor/facts.h"
#include "machine/system/kernel_log.h"

namespace gpuready::doctor {
namespace {

using Times = std::vector<double>;

constexpr std::size_t kMostProcesses = 16;  // of a finding: they tell enough

struct KnownLine {
  double seconds;
  std::string kind;
};

// Those with a time.
std::vector<KnownLine> known_lines(const std::vector<LogLine>& lines) {
  std::vector<KnownLine> known;
  known.reserve(lines.size());
  for (const auto& line : lines)
    if (line.seconds)
      known.push_back({.seconds = *line.seconds, .kind = kind_of_line(quote(line.text))});
  return known;
}

// Of the lines of one kind with the quote; where a message went on over several lines, which a
// quote joins, of the kind that is most of its beginning.
Times times_of(std::string_view quoted, const std::vector<KnownLine>& lines) {
  const auto kind = kind_of_line(quoted);
  Times times;
  std::size_t most = 0;
  for (const auto& [seconds, own] : lines) {
    const bool joined = kind.starts_with(own) && kind.substr(own.size()).starts_with(' ');
    if (own.size() < most || (own != kind && !joined)) continue;
    if (own.size() > most) times.clear();
    most = own.size();
    times.push_back(seconds);
  }
  return times;
}

// "Xid (PCI:0000:17:00): 31, pid=4242, name=python3, Ch 00000008"; others have pid='<unknown>'.
std::optional<LoggedProcess> process_in(std::string_view line) {
  constexpr std::string_view kPid = ", pid=", kName = ", name=";
  const auto pid = line.find(kPid);
  if (pid == line.npos) return std::nullopt;
  line.remove_prefix(pid + kPid.size());
  LoggedProcess process;
  const auto read = std::from_chars(line.data(), line.data() + line.size(), process.pid);
  line.remove_prefix(static_cast<std::size_t>(read.ptr - line.data()));
  if (read.ec != std::errc() || process.pid <= 0 || !line.starts_with(kName)) return std::nullopt;
  line.remove_prefix(kName.size());
  process.name = quote(line.substr(0, line.find(", ")));
  return process;
}

// "Process information: process python3 pid 4242 thread ..." of amdgpu, "..., in python3 [4242]" of
// i915 and xe: whose work hung.
std::optional<LoggedProcess> hung_process_in(std::string_view line) {
  struct Form {
    std::string_view name, pid, end;
  };
  constexpr Form kForms[] = {{"rocess ", " pid ", " thread "}, {" in ", " [", "]"}};
  for (const auto& form : kForms) {
    const auto end = line.rfind(form.end), pid = line.rfind(form.pid, end);
    const auto name = pid == line.npos ? pid : line.rfind(form.name, pid);
    if (end == line.npos || name == line.npos) continue;
    const auto number = parse_int(line.substr(pid + form.pid.size(), end - pid - form.pid.size()));
    const auto begin = name + form.name.size();
    if (number && *number > 0 && begin < pid)
      return LoggedProcess{.pid = *number, .name = quote(line.substr(begin, pid - begin))};
  }
  return std::nullopt;
}

// Xids of one code and GPU are of one kind, whatever process they name.
Times times_of(const XidEvent& quoted, const std::vector<XidEvent>& events,
               std::vector<LoggedProcess>& processes) {
  Times times;
  for (const auto& event : events) {
    if (event.code != quoted.code || event.pci != quoted.pci || !event.seconds) continue;
    times.push_back(*event.seconds);
    const auto process = processes.size() < kMostProcesses ? process_in(event.line) : std::nullopt;
    if (process && std::ranges::find(processes, *process) == processes.end())
      processes.push_back(*process);
  }
  return times;
}

class LogTimes {
 public:
  LogTimes(const KernelLog& log, std::optional<double> boot_unix_seconds)
      : log_(log), boot_(boot_unix_seconds) {}

  void add_to(Finding& finding) {
    Times times;
    std::vector<LoggedProcess> processes;
    for (const auto& item : finding.evidence) {
      if (!item.source.starts_with("kernel log")) continue;
      const auto xid = parse_xid(item.quote);
      const auto more = xid ? times_of(*xid, log_.xids, processes) : times_of(item.quote, lines());
      if (!xid) add_hung(finding, more, processes);
      times.insert(times.end(), more.begin(), more.end());
    }
    if (!times.empty()) {
      const auto [first, last] = std::ranges::minmax(times);
      finding.logged = {
          .first_seconds = first, .last_seconds = last, .processes = std::move(processes)};
      if (boot_) {
        finding.logged->first_unix_seconds = std::llround(*boot_ + first);
        finding.logged->last_unix_seconds = std::llround(*boot_ + last);
      }
    }
    for (auto& inner : finding.explains) add_to(inner);
  }

 private:
  struct HungLine {
    double seconds;
    const std::string& text;
    LoggedProcess process;
  };
  const std::vector<HungLine>& hung_lines() {
    if (hung_) return *hung_;
    hung_.emplace();
    for (const auto& line : log_.lines) {
      const auto process = line.seconds ? hung_process_in(line.text) : std::nullopt;
      if (const auto message = process ? parse_message(line.text) : std::nullopt;
          message && message->writer != "NVRM")
        hung_->push_back({*line.seconds, line.text, *process});
    }
    return *hung_;
  }
  // The processes that drivers of AMD and Intel name within a second of these times.
  void add_hung(const Finding& finding, Times times, std::vector<LoggedProcess>& processes) {
    constexpr double kNear = 1;
    std::ranges::sort(times);
    for (const auto& [seconds, text, process] : hung_lines()) {
      const auto near = std::ranges::lower_bound(times, seconds - kNear);
      if (processes.size() == kMostProcesses || near == times.end() || *near > seconds + kNear)
        continue;
      const bool of_gpu = text.starts_with('[') ||  // "[drm:...": without an address
                          std::ranges::any_of(finding.pci, [&](const PciAddress& address) {
                            return contains(text, address.text());
                          });
      if (of_gpu && std::ranges::find(processes, process) == processes.end())
        processes.push_back(process);
    }
  }
  const std::vector<KnownLine>& lines() {  // for the first quote: most machines have none
    if (!lines_) lines_ = known_lines(log_.lines);
    return *lines_;
  }

  const KernelLog& log_;
  std::optional<double> boot_;
  std::optional<std::vector<KnownLine>> lines_;
  std::optional<std::vector<HungLine>> hung_;
};

}  // namespace

void add_log_times(std::vector<Finding>& findings, const Machine& machine) {
  const auto& system = machine.system;
  std::optional<double> boot;
  // The log's clock stands still while the machine sleeps.
  if (system.unix_seconds && system.uptime_seconds && resumes(machine).empty())
    boot = static_cast<double>(*system.unix_seconds - *system.uptime_seconds);
  LogTimes log(machine.kernel_log, boot);
  for (auto& finding : findings) log.add_to(finding);
}

}  // namespace gpuready::doctor
