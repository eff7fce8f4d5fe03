#include "slurm/causes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "value/names.h"

namespace gpuready::slurm {
namespace {

// What is seen again after these is a proof by itself: a module is loaded or not. After stronger
// ones only a test proves that the GPU computes.
std::optional<Level> test_after(Action action) {
  return action >= Action::reset_gpu ? std::optional(Level::quick) : std::nullopt;
}

Cause of_finding(const LookedFinding& finding) {
  const std::string subject = finding.concerns.empty() ? "" : finding.concerns + ": ";
  return {finding.id, subject + finding.title, finding.action, test_after(finding.action)};
}

std::string name_of_gpu(const LookedGpu& gpu) { return fmt::format("GPU {}", gpu.index); }

bool is_about(const KeptResult& result, const LookedGpu& gpu) {
  if (result.uuid && gpu.uuid) return result.uuid == gpu.uuid;
  if (result.pci && gpu.pci) return result.pci == gpu.pci;
  return result.subject == name_of_gpu(gpu);
}

std::optional<Cause> of_kept(const KeptResult& result) {
  const std::string text = fmt::format("{}: {}", result.subject, result.reason);
  if (result.standing == Standing::bad)
    return Cause{"test", text, Action::check_again, result.level};
  if (result.standing == Standing::absent)
    return Cause{"absent", text, Action::check_again, Level::quick};
  return std::nullopt;
}

bool concerns(const LookedFinding& finding, const LookedGpu& gpu) {
  return std::ranges::find(finding.gpus, gpu.index) != finding.gpus.end();
}

std::string ascii_line(std::string text) {
  for (char& c : text)
    if (c == '"')
      c = '\'';  // scontrol takes a quoted word apart
    else if (c < ' ' || c > '~')
      c = c == '\n' || c == '\t' ? ' ' : '?';
  return text;
}

}  // namespace

std::vector<Cause> causes_of_node(const Look& look, const StatusReport& kept,
                                  const std::vector<std::uint32_t>& left) {
  std::vector<Cause> causes;
  for (const LookedFinding& finding : look.findings) causes.push_back(of_finding(finding));
  // A GPU that no program can use although no finding says why, and a policy that is not met.
  if (causes.empty() && look.exit == Exit::unhealthy) {
    const auto unusable = std::ranges::find_if(
        look.gpus, [](const LookedGpu& gpu) { return gpu.given && !gpu.usable; });
    if (unusable != look.gpus.end())
      causes.push_back({"gpu", fmt::format("{}: {}", name_of_gpu(*unusable), unusable->reason),
                        Action::check_again, Level::quick});
    else
      causes.push_back({"gpu", look.conclusion, Action::check_again, {}});
  }
  if (causes.empty() && look.exit == Exit::required_absent)
    causes.push_back({"policy", look.conclusion, Action::check_again, {}});
  const bool seen = !causes.empty();
  for (const KeptResult& result : kept.results)
    if (auto cause = of_kept(result)) {
      // The look tells the same of the machine, and what it says is newer.
      if (seen && result.subject == "the machine") continue;
      causes.push_back(*std::move(cause));
    }
  for (const LookedGpu& gpu : look.gpus)
    for (const std::uint32_t pid : gpu.pids)
      if (std::ranges::find(left, pid) != left.end())
        causes.push_back(
            {"leftover",
             fmt::format("{}: process {} of an earlier job still uses it", name_of_gpu(gpu), pid),
             Action::check_again,
             {}});
  return causes;
}

std::optional<std::vector<int>> parse_numbers(std::string_view text) {
  constexpr std::int64_t kMost = 1024;
  std::vector<int> numbers;
  for (const std::string_view part : split(text, ", ")) {
    const auto dash = part.find('-');
    const auto first = parse_int(part.substr(0, dash));
    const auto last = dash == part.npos ? first : parse_int(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMost) return std::nullopt;
    for (auto number = *first; number <= *last; ++number)
      numbers.push_back(static_cast<int>(number));
  }
  return numbers;
}

JobGpus job_gpus(const Look& look, std::string_view slurm_job_gpus) {
  const auto numbers = parse_numbers(slurm_job_gpus);
  if (!numbers)
    return {{},
            fmt::format("SLURM_JOB_GPUS={} is not a list of numbers", printable(slurm_job_gpus))};
  std::vector<const LookedGpu*> gpus;
  for (const LookedGpu& gpu : look.gpus) {
    if (gpu.mig) return {{}, "the numbers count MIG instances, not GPUs"};
    if (!gpu.integrated) gpus.push_back(&gpu);
  }
  const bool by_minor =
      std::ranges::all_of(gpus, [](const LookedGpu* gpu) { return gpu->minor_number.has_value(); });
  JobGpus job;
  for (const int number : *numbers) {
    const LookedGpu* found = nullptr;
    if (by_minor) {
      for (const LookedGpu* gpu : gpus)
        if (gpu->minor_number == number) found = gpu;
    } else if (static_cast<std::size_t>(number) < gpus.size()) {
      found = gpus[static_cast<std::size_t>(number)];
    }
    if (found != nullptr)
      job.gpus.push_back(found);
    else
      job.unknown = fmt::format("no GPU here has the number {} of SLURM_JOB_GPUS={}", number,
                                printable(slurm_job_gpus));
  }
  return job;
}

std::vector<Cause> causes_of_job(const Look& look, const StatusReport& kept, const JobGpus& job) {
  std::vector<Cause> causes;
  const auto add = [&](Cause cause) {
    if (std::ranges::find(causes, cause.text, &Cause::text) == causes.end())
      causes.push_back(std::move(cause));
  };
  for (const LookedGpu* gpu : job.gpus) {
    if (!gpu->usable && gpu->given) {
      const auto blamed = std::ranges::find_if(look.findings, [&](const LookedFinding& finding) {
        return concerns(finding, *gpu) || finding.gpus.empty();
      });
      if (blamed != look.findings.end())
        add(of_finding(*blamed));
      else
        add({"gpu", fmt::format("{}: {}", name_of_gpu(*gpu), gpu->reason), Action::check_again,
             Level::quick});
    }
    for (const LookedFinding& finding : look.findings)
      if (concerns(finding, *gpu)) add(of_finding(finding));
    for (const KeptResult& result : kept.results)
      if (result.standing == Standing::bad && is_about(result, *gpu)) add(*of_kept(result));
  }
  return causes;
}

bool test_is_short(const JobGpus& job, const StatusReport& kept) {
  return !job.unknown && !job.gpus.empty() &&
         std::ranges::all_of(job.gpus, [&](const LookedGpu* gpu) {
           return gpu->uuid && gpu->usable && gpu->pids.empty() &&
                  std::ranges::any_of(kept.results, [&](const KeptResult& result) {
                    return result.standing == Standing::good && is_about(result, *gpu);
                  });
         });
}

std::string reason_of(const std::vector<Cause>& causes) {
  if (causes.empty()) return {};
  Action strongest = Action::none;
  for (const Cause& cause : causes) strongest = std::max(strongest, cause.action);
  std::string tail = fmt::format(" ({})", name_of(strongest));
  if (causes.size() > 1) tail = fmt::format("; {} more", causes.size() - 1) + tail;
  std::string text = ascii_line(std::string(kPrefix) + causes.front().text);
  while (text.ends_with('.') || text.ends_with(' ')) text.pop_back();
  const std::size_t room = kMostReasonBytes - tail.size();
  if (text.size() > room) text = text.substr(0, room - 3) + "...";
  return text + tail;
}

bool is_rehearsal(std::string_view reason) {
  const auto text = after_prefix(reason, kPrefix);
  return text && text->starts_with(kRehearsal);
}

std::vector<Cause> rehearsed(std::vector<Cause> causes) {
  for (Cause& cause : causes) {
    cause.text.insert(0, kRehearsal);
    cause.needs_test = std::nullopt;
  }
  return causes;
}

bool reads_as_ours(std::string_view reason) {
  const auto open = reason.rfind(" (");
  if (!reason.starts_with(kPrefix) || open == reason.npos || !reason.ends_with(')')) return false;
  return named<Action>(reason.substr(open + 2, reason.size() - open - 3)).has_value();
}

}  // namespace gpuready::slurm
