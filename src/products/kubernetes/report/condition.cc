#include "kubernetes/report/condition.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/conclude.h"
#include "report/text_layout.h"

namespace gpuready::kubernetes {
namespace {

// node-problem-detector cuts at max_output_length bytes, 80 if nothing else is configured.
constexpr std::size_t kMostBytes = 80;

std::string one_short_line(std::string_view text) {
  return cut(to_ascii(one_line(text)), kMostBytes);
}
Condition problem(Problem kind, std::string_view text) { return {kind, one_short_line(text)}; }

bool is_silent(const std::optional<std::string>& outcome) {
  return outcome == "hung" || outcome == "timed_out";
}

// "off-the-bus: GPU 3; power_cycle", and how many causes there are besides.
std::string text_of(const std::vector<Finding>& errors) {
  const Finding& first = errors.front();
  std::string text = first.id;
  if (!first.gpus.empty()) {
    text += first.gpus.size() == 1 ? ": GPU" : ": GPUs";
    for (std::size_t i = 0; i < first.gpus.size(); ++i)
      text += fmt::format("{}{}", i == 0 ? " " : ",", first.gpus[i]);
  } else if (first.pci.size() == 1) {
    text += ": " + first.pci.front().text();
  }
  text += fmt::format("; {}", to_string(first.action));
  if (errors.size() > 1) text += fmt::format(" (and {} more)", errors.size() - 1);
  return text;
}

const KeptResult* worst_of(const StatusReport& status) {
  const auto worst = std::ranges::max_element(status.results, {}, &KeptResult::standing);
  return worst == status.results.end() ? nullptr : &*worst;
}

}  // namespace

Condition not_ready(const Report& report, const Result<StatusReport>& status) {
  std::vector<Finding> errors;
  for (const Finding& finding : report.findings.value_or(std::vector<Finding>{}))
    if (finding.severity == Severity::error) errors.push_back(finding);
  if (!errors.empty()) return problem(Problem::exists, text_of(errors));
  const NvidiaDriver& nvidia = report.machine.nvidia;
  if (is_silent(nvidia.nvml_outcome) || is_silent(report.machine.amd.outcome))
    return problem(Problem::exists, "the driver does not answer");
  if (report.exit == Exit::unhealthy || report.exit == Exit::required_absent)
    return problem(Problem::exists, report.conclusion.value_or("a GPU is not usable"));
  if (status && (status->standing == Standing::bad || status->standing == Standing::absent)) {
    const KeptResult& worst = *worst_of(*status);
    return problem(Problem::exists, fmt::format("test {}: {}: {}", name_of(worst.standing),
                                                worst.subject, worst.reason));
  }
  if (report.exit != Exit::ok)
    return problem(Problem::undetermined, report.conclusion.value_or("undetermined"));
  if (!status) return problem(Problem::undetermined, "results unknown: " + status.error().message);
  const auto gpus = report.machine.gpus.size();
  return problem(Problem::none, gpus == 0   ? std::string("no GPU in this node")
                                : gpus == 1 ? std::string("1 GPU without a problem")
                                            : fmt::format("{} GPUs without a problem", gpus));
}

Condition without_driver(std::string_view root) {
  return problem(Problem::exists, fmt::format("no driver below {}", root));
}

Condition untested(const Result<StatusReport>& status) {
  if (!status) return problem(Problem::exists, "no result: " + status.error().message);
  const KeptResult* worst = worst_of(*status);
  if (!worst) return problem(Problem::exists, "never tested");
  switch (worst->standing) {
    case Standing::good:
      return problem(Problem::none, fmt::format("tested: level {}", to_string(worst->level)));
    case Standing::bad:
    case Standing::absent:  // GpuNotReady says it
      return problem(Problem::none, fmt::format("tested: {}", name_of(worst->standing)));
    default:
      return problem(Problem::exists,
                     fmt::format("{}: {}", name_of(worst->standing), worst->subject));
  }
}

Result<JudgedNode> judge_node(Result<Report> look, Result<StatusReport> status,
                              const std::optional<std::string>& driver_root) {
  if (look) {
    auto condition = not_ready(*look, status);
    return JudgedNode{*std::move(look), std::move(status), std::move(condition)};
  }
  if (look.error().kind == ErrorKind::not_found && driver_root)
    return JudgedNode{{}, std::move(status), without_driver(*driver_root)};
  return std::unexpected(look.error());
}

double look_seconds(std::optional<double> asked, std::size_t gpus) {
  constexpr double kInAll = 20, kPerGpu = 10;  // a driver starts one GPU after the other
  return asked.value_or(kInAll) - kPerGpu * static_cast<double>(gpus);
}

}  // namespace gpuready::kubernetes
