#include "report/metrics/exposition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/text_layout.h"

namespace gpuready {
namespace {

std::string escape_label(std::string_view value) {
  std::string out;
  for (const char c : one_line(value)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

// OpenMetrics names a counter's family without _total, which its samples must end with.
std::pair<std::string_view, std::string_view> family_in_openmetrics(std::string_view name,
                                                                    std::string_view type) {
  constexpr std::string_view kTotal = "_total";
  if (type != "counter") return {name, type};
  if (name.ends_with(kTotal)) return {name.substr(0, name.size() - kTotal.size()), type};
  return {name, "unknown"};
}

}  // namespace

Labels with(Labels labels, std::string_view key, std::string value) {
  labels.emplace_back(key, std::move(value));
  return labels;
}

void Exposition::add(std::string_view name, std::string_view type, std::string_view help,
                     Labels labels, double value) {
  if (!std::isfinite(value)) return;
  auto family = std::find_if(families_.begin(), families_.end(),
                             [&](const Family& each) { return each.name == name; });
  if (family == families_.end())
    family = families_.insert(families_.end(),
                              {std::string(name), std::string(type), std::string(help), {}});
  const auto same = std::find_if(family->samples.begin(), family->samples.end(),
                                 [&](const Sample& each) { return each.labels == labels; });
  if (same != family->samples.end())
    same->value += value;
  else
    family->samples.push_back({std::move(labels), value});
}

std::string Exposition::text(MetricsFormat format) const {
  const bool openmetrics = format == MetricsFormat::openmetrics;
  std::string out;
  for (const Family& family : families_) {
    const auto [name, type] =
        openmetrics ? family_in_openmetrics(family.name, family.type)
                    : std::pair<std::string_view, std::string_view>(family.name, family.type);
    out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, family.help, name, type);
    for (const Sample& sample : family.samples) {
      out += family.name;
      for (std::size_t i = 0; i < sample.labels.size(); ++i)
        out += fmt::format("{}{}=\"{}\"", i == 0 ? "{" : ",", sample.labels[i].first,
                           escape_label(sample.labels[i].second));
      // Counters and bytes are whole: written without an exponent, they read exactly.
      const bool whole = sample.value == std::floor(sample.value) && std::fabs(sample.value) < 1e15;
      out += fmt::format(
          "{} {}\n", sample.labels.empty() ? "" : "}",
          whole ? fmt::format("{:.0f}", sample.value) : fmt::format("{}", sample.value));
    }
  }
  if (openmetrics) out += "# EOF\n";
  return out;
}

}  // namespace gpuready
