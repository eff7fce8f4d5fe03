#include "vm/diagnose/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/paths.h"
#include "base/text.h"
#include "doctor/facts.h"
#include "doctor/xid_table.h"
#include "machine/system/kernel_log.h"
#include "vm/diagnose/bar_lines.h"
#include "vm/diagnose/console_causes.h"
#include "vm/diagnose/console_lines.h"
#include "vm/diagnose/hypeman_steps.h"

namespace gpuready::vm {
namespace {

constexpr std::size_t kMostEvidence = 4;
// An init says less than a hundred, and a GPU has few kinds of events: more is not a guest's own.
constexpr std::size_t kMostSteps = 10'000, kMostXidCauses = 64;
// Smaller windows are not what firmware has no room for.
constexpr std::uint64_t kLargeBar = 64u << 20;

// The kernel's time of a line: "0.000000" of "<6>[    0.000000][    T1] Linux version".
std::optional<std::string_view> kernel_time(std::string_view head) {
  for (auto at = head.find('['); at != head.npos; at = head.find('[', at + 1)) {
    const auto inside = trim(head.substr(at + 1, head.find(']', at) - at - 1));
    if (contains(inside, ".") && inside.find_first_not_of("0123456789.") == inside.npos)
      return inside;
  }
  return std::nullopt;
}

// A kernel that starts, and no program that prints /proc/version.
bool is_boot(std::string_view before, std::string_view line, std::string_view after) {
  const auto at = line.find("Linux version ");
  if (at == line.npos) return false;
  if (const auto time = kernel_time(line.substr(0, at)))
    return time->find_first_not_of("0.") == time->npos;
  return contains(after, "Command line: ") || contains(before, "Booting Linux on physical CPU");
}

// What `set -x` of a shell prints is not a message of a program.
bool is_trace(std::string_view line) {
  return line.starts_with("+") && line.find_first_not_of('+') == line.find(' ');
}

// A program other than the kernel runs, so the initrd was of use.
bool is_user_space(std::string_view line) {
  return contains(line, "systemd[1]: ") || line.starts_with("[  OK  ] ") || is_hypeman_line(line);
}

// Which modules a line of a failed load is about: the driver's own, or such as nvidia_peermem,
// which a GPU is ready without.
enum class NamedModules { none, drivers, others };
NamedModules modules_named(std::string_view line) {
  constexpr std::string_view kDrivers[] = {"nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm"};
  constexpr std::string_view kOthers[] = {
      "nvidia_peermem",          "nv_peer_mem", "nvidia_fs", "nvidia_vgpu_vfio", "nvidia_cspmu",
      "nvidia_wmi_ec_backlight", "nvidiafb",    "gdrdrv"};
  auto found = NamedModules::none;
  for (const auto word : split(line, " \t'\"`,:;()[]")) {
    std::string name(base_name(word));
    if (const auto end = name.find(".ko"); end != name.npos) name.resize(end);
    std::ranges::replace(name, '-', '_');
    // Debian's names: nvidia-current-uvm.
    if (const auto rest = after_prefix(name, "nvidia_current"))
      name = "nvidia" + std::string(*rest);
    if (std::ranges::find(kDrivers, name) != std::end(kDrivers)) return NamedModules::drivers;
    if (std::ranges::find(kOthers, name) != std::end(kOthers)) found = NamedModules::others;
  }
  return found;
}

bool is_drivers(std::string_view line) {
  return contains(line, "NVRM") || contains(line, "nvidia") || contains(line, "NVIDIA");
}

struct FoundCause {
  const ConsoleCause* row = nullptr;
  std::size_t first = 0;  // line's number
  doctor::Match match;
};

class ConsoleReader {
 public:
  ConsoleReader(std::string_view console, std::size_t lines_before)
      : read_(lines_of_console(console, lines_before)), lines_(read_.lines) {
    // The line that stands `away` from one of ours.
    const auto beside = [&](std::size_t index, std::size_t away) {
      const auto other = index + away;  // SIZE_MAX: the one before
      return other < lines_.size() && lines_[other].number == lines_[index].number + away
                 ? lines_[other].text
                 : std::string_view();
    };
    std::size_t start = 0;
    for (std::size_t i = 0; i < lines_.size(); ++i)
      if (lines_[i].is(kBootLine) && is_boot(beside(i, SIZE_MAX), lines_[i].text, beside(i, 1))) {
        ++out_.boots;
        start = i;
      }
    // What stands before the last kernel's start is about earlier boots. What a hypervisor says
    // just before the first one may have kept nothing from starting.
    if (out_.boots > 0)
      lines_.erase(lines_.begin(), lines_.begin() + static_cast<std::ptrdiff_t>(start));
  }

  ConsoleReport read() && {
    read_steps();
    read_driver();
    read_proofs();
    for (auto& line : lines_) match(line);
    read_versions();
    read_bars();
    read_xids();
    judge_steps();
    fold();
    decide();
    return std::move(out_);
  }

 private:
  void read_steps() {
    for (const auto& line : lines_) {
      if (!line.is(kStepLine) || out_.steps.size() == kMostSteps) continue;
      if (auto own = steps_in(line.text); !own.empty()) {
        out_.kind = ConsoleKind::gpuready;
        step_lines_.push_back(line.number);
        out_.steps.push_back(std::move(own.front()));
      } else if (is_hypeman_line(line.text)) {
        if (out_.kind != ConsoleKind::gpuready) out_.kind = ConsoleKind::hypeman;
        if (auto step = hypeman_step(line.text)) {
          step_lines_.push_back(line.number);
          out_.steps.push_back(std::move(*step));
        }
      }
    }
    if (out_.kind == ConsoleKind::unknown && out_.boots > 0) out_.kind = ConsoleKind::linux_boot;
  }

  void read_driver() {
    for (const auto& line : lines_)
      if (const auto at = line.text.find(kDriverLoads);
          line.is(kDriverLine) && at != line.text.npos) {
        out_.driver_version = find_version(line.text.substr(at));
        loaded_ = line.number;
      }
    for (std::size_t i = 0; i < out_.steps.size(); ++i) {
      const auto& step = out_.steps[i];
      if (step.kind != "module" || step.subject != "nvidia" || step.state != StepState::ok)
        continue;
      loaded_ = std::max(loaded_, step_lines_[i]);
      if (!out_.driver_version) out_.driver_version = find_version(step.text);
    }
  }

  // What shows that an earlier fault kept nothing from working.
  void read_proofs() {
    for (std::size_t i = 0; i < out_.steps.size(); ++i) {
      const auto& step = out_.steps[i];
      began_ = std::max(began_, step_lines_[i]);
      if ((step.kind == "ready" || step.kind == "check") && step.state == StepState::ok)
        proven_ = std::max(proven_, step_lines_[i]);
    }
    for (const auto& line : lines_)
      if (line.is(kProgramLine) && is_user_space(line.text)) began_ = std::max(began_, line.number);
    began_ = std::max(began_, loaded_);
  }

  // Whether what a line says kept nothing from working.
  bool is_refuted(const ConsoleCause& row, std::size_t number) const {
    if (number < proven_ || (row.stage == Stage::module && number < loaded_)) return true;
    return row.refuted_by == Proof::program_later ? number < began_
                                                  : row.refuted_by == Proof::check && proven_ > 0;
  }

  void match(ConsoleLine& line) {
    if (line.cause == nullptr || is_trace(line.text)) return;
    const ConsoleCause& row = *line.cause;
    if (row.stage == Stage::module) {
      // A load that failed before one that did not: an initrd had no module, and the root has it.
      if (is_refuted(row, line.number)) return;
      const auto modules = modules_named(line.text);
      // Another module than the driver's is meant where that one is loaded.
      if (loaded_ > 0 && modules == NamedModules::none && !is_drivers(line.text)) return;
      if (modules == NamedModules::others) {
        line.claimed = true;
        add(console_cause("other-module-failed"), line);
        return;
      }
    }
    line.claimed = true;
    if (row.role == Role::consequence && line.number < proven_) return;
    add(row, line);
  }

  FoundCause& add(const ConsoleCause& row, const ConsoleLine& line) {
    const auto severity =
        is_refuted(row, line.number) ? std::min(row.severity, Severity::warning) : row.severity;
    return add(row, std::string(row.id), line, severity);
  }

  FoundCause& add(const ConsoleCause& row, const std::string& id, const ConsoleLine& line,
                  Severity severity) {
    auto found = std::ranges::find_if(
        causes_, [&](const FoundCause& known) { return *known.match.id == id; });
    if (found == causes_.end())
      found = causes_.insert(found, {.row = &row, .first = line.number, .match = {.id = id}});
    auto& match = found->match;
    match.severity = std::max(match.severity.value_or(severity), severity);
    if (match.evidence.size() < kMostEvidence)
      match.evidence.push_back(doctor::evidence(fmt::format("line {}", line.number), line.text));
    const auto address = doctor::pci_address_in(line.text);
    if (address && std::ranges::find(match.pci, *address) == match.pci.end() &&
        match.pci.size() < kMostEvidence)
      match.pci.push_back(*address);
    return *found;
  }

  // "| NVIDIA-SMI 535.104.05   Driver Version: 570.86.16 ...": the tool's own library and the
  // kernel's driver. The image's library may have come before the injected one.
  void read_versions() {
    for (const auto& line : lines_) {
      if (!line.is(kVersionsLine)) continue;
      const std::string_view text = line.text;
      const auto tool = text.find("NVIDIA-SMI "), driver = text.find("Driver Version: ");
      if (tool == text.npos || driver == text.npos || driver < tool) continue;
      const auto library = find_version(text.substr(tool, driver - tool));
      const auto kernel = find_version(text.substr(driver));
      const bool loaded_other = out_.driver_version && kernel && *kernel != *out_.driver_version;
      if (library && kernel && (*library != *kernel || loaded_other))
        add(console_cause("driver-library-mismatch"), line);
    }
  }

  // The last that is said of a window counts: the kernel tries again.
  void read_bars() {
    std::map<std::pair<PciAddress, int>, const ConsoleLine*> failed;
    for (const auto& line : lines_) {
      if (!line.is(kBarLine)) continue;
      const auto bar = parse_bar_line(line.text);
      if (!bar) continue;
      if (bar->assigned)
        failed.erase({bar->device, bar->bar});
      else if (bar->bytes >= kLargeBar)
        failed.try_emplace({bar->device, bar->bar}, &line);
    }
    for (const auto& [what, line] : failed)
      if (line->number > proven_) add(console_cause("bar-unassigned"), *line);
  }

  void read_xids() {
    std::set<int> codes;
    for (auto& line : lines_) {
      // Consoles put times and units of systemd in front.
      const auto start = std::min(line.text.find("NVRM: Xid ("), line.text.size());
      const auto event =
          line.is(kXidLine) ? parse_xid(std::string_view(line.text).substr(start)) : std::nullopt;
      if (!event || (codes.size() == kMostXidCauses && !codes.contains(event->code))) continue;
      codes.insert(event->code);
      line.claimed = true;
      auto& match = add(console_cause("xid"), fmt::format("xid-{}", event->code), line,
                        xid_severity(event->code, event->line))
                        .match;
      auto known = doctor::about_xid(event->code);
      match.title = std::move(known.title);
      match.explanation = std::move(known.explanation);
      match.cure = std::move(known.cure);
      match.action = known.action;
    }
  }

  const ConsoleLine& line_of(std::size_t number) const {
    return *std::ranges::lower_bound(lines_, number, {}, &ConsoleLine::number);
  }

  // Steps that failed and that no row of the table explains; an end that never came.
  void judge_steps() {
    bool ended = false;
    for (std::size_t i = 0; i < out_.steps.size(); ++i) {
      const auto& step = out_.steps[i];
      ended |= step.kind == "ready" || step.kind == "start" || step.kind == "end";
      if (step.kind == "config" && step.subject == "HAS_GPU" && step.text == "0") {
        not_told_ = true;
        add(console_cause("guest-not-told"), line_of(step_lines_[i]));
      }
      if (step.state != StepState::failed || step.kind == "ready" || step.kind == "end") continue;
      if (!out_.failed_step && step_lines_[i] > proven_)
        out_.failed_step = FailedStep{step.kind, step.subject, step.text};
      if (line_of(step_lines_[i]).claimed) continue;
      auto& cause = add(console_cause(step.kind == "check" ? "check-failed" : "step-failed"),
                        line_of(step_lines_[i]));
      if (step.kind != "check")
        cause.match.title =
            fmt::format("The step {} {} failed: {}", step.kind, step.subject, step.text);
    }
    if (out_.kind == ConsoleKind::gpuready && !ended && !out_.steps.empty()) {
      auto& cause = add(console_cause("guest-stopped-midway"), line_of(step_lines_.back()));
      const auto& last = out_.steps.back();
      cause.match.title =
          fmt::format("The guest's init stopped after the step {} {}", last.kind, last.subject);
    }
    if (out_.kind == ConsoleKind::hypeman && out_.steps.empty()) {
      not_told_ = true;
      for (auto line = lines_.rbegin(); line != lines_.rend(); ++line)
        if (is_hypeman_line(line->text)) {
          add(console_cause("guest-not-told"), *line);
          break;
        }
    }
  }

  // What only follows from an earlier fault is folded under the first of these.
  void fold() {
    const auto rank = [](const FoundCause& found) {
      return std::tuple(*found.match.severity == Severity::error ? 0 : 1, found.row->stage,
                        found.first, *found.match.id);
    };
    std::ranges::sort(causes_, {}, rank);
    const auto is_root = [](const FoundCause& found) {
      return *found.match.severity == Severity::error && found.row->role == Role::cause;
    };
    auto root = std::ranges::find_if(causes_, is_root);
    if (root == causes_.end()) root = causes_.begin();
    if (root == causes_.end() || *root->match.severity != Severity::error) root = causes_.end();
    if (root != causes_.end() && !out_.failed_step) out_.failed_step = step_of(*root);
    const Machine none;  // a console is all that is known of its machine
    std::vector<doctor::ReportedCause> told;
    for (const auto& found : causes_) told.push_back(doctor::tell(*found.row, found.match, none));
    const auto* first = root == causes_.end() ? nullptr : root->row;
    out_.findings = doctor::fold(
        std::move(told), none,
        [&](const doctor::ReportedCause& cause, const doctor::ReportedCause& other) {
          const auto& row = static_cast<const ConsoleCause&>(*other.cause);
          return cause.cause == first && row.role == Role::consequence && row.stage >= first->stage;
        });
  }

  // Of a log without steps: the root's stage, and the word that it is about.
  static FailedStep step_of(const FoundCause& cause) {
    const auto& quoted = cause.match.evidence.front().quote;
    FailedStep step{std::string(to_string(cause.row->stage)), "", quoted};
    if (!cause.match.pci.empty()) step.subject = cause.match.pci.front().text();
    for (const auto word : split(quoted, " \t'\",:;()[]")) {
      const bool named = word.starts_with("/dev/") || word.starts_with("nvidia") ||
                         (word.starts_with("lib") && contains(word, ".so"));
      if (!named) continue;
      step.subject = std::string(word);
      break;
    }
    return step;
  }

  void decide() {
    const bool wrong = std::ranges::any_of(
        out_.findings, [](const Finding& finding) { return finding.severity == Severity::error; });
    const bool said = std::ranges::any_of(out_.steps, [](const Step& step) {
      return step.kind == "ready" && step.state == StepState::ok;
    });
    if (wrong)
      out_.state = ConsoleState::failed;
    else if (said || (loaded_ > 0 && !not_told_) || hypeman_is_ready(out_.steps))
      out_.state = ConsoleState::ready;
  }

  ConsoleLines read_;
  std::deque<ConsoleLine>& lines_;
  std::vector<std::size_t> step_lines_;  // of out_.steps
  std::vector<FoundCause> causes_;
  // The last lines at which: the driver was loaded, a program ran, the GPU was found to be ready.
  std::size_t loaded_ = 0, began_ = 0, proven_ = 0;
  bool not_told_ = false;
  ConsoleReport out_;
};

}  // namespace

ConsoleReport read_console(const FileEnd& console) {
  auto report = ConsoleReader(console.text, console.unread_lines).read();
  report.unread_bytes = console.unread_bytes;
  return report;
}

}  // namespace gpuready::vm
