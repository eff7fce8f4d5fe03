#include "jobs/job.h"

#include <algorithm>

namespace gpuready {
namespace {

constexpr std::pair<JobEnd, std::string_view> kEnds[] = {
    {JobEnd::exited, "exited"},
    {JobEnd::signalled, "signalled"},
    {JobEnd::timed_out, "timed_out"},
    {JobEnd::silent, "silent"},
    {JobEnd::too_much_output, "too_much_output"},
    {JobEnd::cancelled, "cancelled"},
    {JobEnd::hung, "hung"},
};

}  // namespace

std::string_view to_string(JobEnd end) {
  return std::ranges::find(kEnds, end, &std::pair<JobEnd, std::string_view>::first)->second;
}

std::optional<JobEnd> job_end_from(std::string_view text) {
  for (const auto& [end, name] : kEnds)
    if (name == text) return end;
  return std::nullopt;
}

}  // namespace gpuready
