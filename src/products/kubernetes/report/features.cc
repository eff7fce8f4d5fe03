#include "kubernetes/report/features.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "report/conclude.h"
#include "value/action.h"

namespace gpuready::kubernetes {
namespace {

constexpr std::string_view kPrefix = "feature.node.kubernetes.io/gpuready-";
constexpr std::size_t kMostCharacters = 63;

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

void add(std::string& text, std::string_view name, std::string_view value) {
  text += fmt::format("{}{}={}\n", kPrefix, name, label_value(value));
}

}  // namespace

std::string label_value(std::string_view text) {
  std::string value;
  for (const char c : text) value += is_alphanumeric(c) || c == '.' || c == '_' ? c : '-';
  const auto trimmed = [&](std::size_t length) {
    const auto first = std::ranges::find_if(value, is_alphanumeric) - value.begin();
    value = value.substr(static_cast<std::size_t>(first), length);
    while (!value.empty() && !is_alphanumeric(value.back())) value.pop_back();
  };
  trimmed(kMostCharacters);
  return value;
}

std::string features(const Report& report, const Result<StatusReport>& status) {
  std::string text;
  const auto usable = usable_gpus(report);
  add(text, "gpus", std::to_string(report.machine.gpus.size()));
  add(text, "usable", std::to_string(std::ranges::count(usable, true)));
  add(text, "action",
      report.findings ? to_string(strongest_action(*report.findings)) : to_string(Action::none));
  if (!report.machine.gpus.empty()) add(text, "model", report.machine.gpus.front().name);
  const Standing standing =
      status && !status->results.empty() ? status->standing : Standing::never_tested;
  if (standing == Standing::good) {  // for as long as the result counts
    const auto oldest = std::ranges::min(status->results, {}, &KeptResult::tested_unix_seconds);
    const auto least = std::ranges::min(status->results, {}, &KeptResult::level);
    text += fmt::format("# +expiry-time={}\n",
                        format_utc(oldest.tested_unix_seconds + status->valid_seconds));
    add(text, "level", to_string(least.level));
  }
  add(text, "standing", name_of(standing));
  add(text, "ready", report.exit == Exit::ok && standing == Standing::good ? "true" : "false");
  return text;
}

}  // namespace gpuready::kubernetes
