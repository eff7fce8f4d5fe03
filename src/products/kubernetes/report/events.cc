#include "kubernetes/report/events.h"

#include <fmt/format.h>

#include <algorithm>

#include "doctor/diagnose.h"
#include "report/conclude.h"
#include "report/text_layout.h"

namespace gpuready::kubernetes {
namespace {

// NVSentinel joins messages by semicolons in a condition, and cuts a long one.
constexpr std::size_t kMostBytes = 200;
std::string message_of(std::string_view text) {
  std::string message = cut(to_ascii(one_line(text)), kMostBytes);
  std::ranges::replace(message, ';', ',');
  return message;
}

std::vector<ImpactedEntity> entities_of(const std::optional<PciAddress>& pci,
                                        const std::optional<std::string>& uuid) {
  std::vector<ImpactedEntity> entities;
  if (pci) entities.push_back({"PCI", pci->text()});
  if (uuid) entities.push_back({"GPU_UUID", *uuid});
  return entities;
}

// NVSentinel acts from outside, so what a container cannot do itself needs no support.
std::vector<Finding> as_on_the_node(Machine machine) {
  machine.container.runtime.reset();
  return diagnose(machine, {});
}

class Events {
 public:
  Events(const Report& report, const StatusReport* status)
      : report_(report),
        status_(status),
        outside_(as_on_the_node(report.machine)),
        bare_metal_(!report.machine.system.hypervisor && !report.machine.system.wsl2) {}

  std::vector<HealthEvent> take() && {
    for (const Finding& finding : report_.findings.value_or(std::vector<Finding>{}))
      if (finding.severity == Severity::error) add(finding);
    for (const KeptResult& result : status_ ? status_->results : std::vector<KeptResult>{})
      if (is_fault(result)) add(result);
    if (status_) add_healthy_gpus();
    return std::move(events_);
  }

 private:
  static bool is_fault(const KeptResult& result) {
    return result.standing == Standing::bad || result.standing == Standing::absent;
  }
  Action action_of(const Finding& finding) const {
    const auto same = std::ranges::find(outside_, finding.id, &Finding::id);
    return same == outside_.end() ? finding.action : same->action;
  }
  void add(const Finding& finding) {
    HealthEvent event{.check = std::string(kGpuCheck),
                      .message = message_of(finding.title),
                      .error_codes = {finding.id}};
    const auto finish = [&](bool has_uuid) {
      event.recommended_action = recommended_action(action_of(finding), bare_metal_, has_uuid);
      events_.push_back(event);
    };
    const auto before = events_.size();
    for (const Gpu& gpu : report_.machine.gpus)
      if (blames(finding, gpu)) {
        event.entities = entities_of(gpu.pci, gpu.uuid);
        finish(gpu.uuid.has_value());
      }
    if (events_.size() > before) return;
    event.check = kNodeCheck;
    for (const PciAddress& address : finding.pci) event.entities.push_back({"PCI", address.text()});
    finish(false);
  }
  void add(const KeptResult& result) {
    const auto entities = entities_of(result.pci, result.uuid);
    events_.push_back(
        {.check = std::string(entities.empty() ? kNodeCheck : kGpuCheck),
         .message = message_of(fmt::format("test {}: {}: {}", name_of(result.standing),
                                           result.subject, result.reason)),
         .recommended_action = recommended_action(result.action.value_or(Action::check_again),
                                                  bare_metal_, result.uuid.has_value()),
         .error_codes = {fmt::format("test-{}", name_of(result.standing))},
         .entities = entities});
  }
  // Those that nothing above is about.
  void add_healthy_gpus() {
    const auto usable = usable_gpus(report_);
    for (std::size_t i = 0; i < usable.size(); ++i) {
      const Gpu& gpu = report_.machine.gpus[i];
      const auto entities = entities_of(gpu.pci, gpu.uuid);
      const bool blamed = std::ranges::any_of(events_, [&](const HealthEvent& event) {
        return std::ranges::find_first_of(event.entities, entities) != event.entities.end();
      });
      if (usable[i] && !blamed && !entities.empty())
        events_.push_back({.check = std::string(kGpuCheck),
                           .healthy = true,
                           .message = message_of(fmt::format("GPU {} has no fault", gpu.index)),
                           .entities = entities});
    }
  }

  const Report& report_;
  const StatusReport* status_;
  std::vector<Finding> outside_;
  bool bare_metal_;
  std::vector<HealthEvent> events_;
};

}  // namespace

std::vector<HealthEvent> health_events(const Condition& condition, const Report* report,
                                       const Result<StatusReport>& status) {
  const auto whole = [&](std::string_view check, bool healthy) {
    return HealthEvent{
        .check = std::string(check), .healthy = healthy, .message = message_of(condition.line)};
  };
  if (condition.problem == Problem::undetermined) return {};
  if (condition.problem == Problem::none) return {whole(kGpuCheck, true), whole(kNodeCheck, true)};
  std::vector<HealthEvent> events;
  if (report) events = Events(*report, status ? &*status : nullptr).take();
  if (std::ranges::all_of(events, &HealthEvent::healthy)) {  // the condition knows more
    events.push_back(whole(kNodeCheck, false));
    events.back().error_codes = {"gpu-not-ready"};
  }
  return events;
}

std::string lines_of(const std::vector<HealthEvent>& events) {
  std::string text;
  for (const auto& event : events) {
    text += fmt::format("{} {}", event.check, event.healthy ? "healthy" : "fault");
    for (const auto& entity : event.entities)
      text += fmt::format(" {}:{}", entity.type, entity.value);
    for (const auto& code : event.error_codes) text += " " + code;
    text += ": " + event.message + "\n";
  }
  return text;
}

}  // namespace gpuready::kubernetes
