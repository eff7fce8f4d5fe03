#include "health/peers/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/optional_min.h"
#include "health/plan/survey.h"

namespace gpuready {
namespace {

struct Member {
  const TestJob* job;
  const Gpu* gpu;
};

std::vector<Member> members_of(const Machine& machine, const std::vector<TestJob>& singles) {
  std::vector<Member> members;
  for (const TestJob& job : singles) {
    if (job.on_cpu()) continue;
    // By its own UUID: a MIG instance's is not a GPU's.
    if (const Gpu* gpu = machine.find_gpu_by_uuid(job.devices.front().id))
      members.push_back({&job, gpu});
  }
  return members;
}

std::optional<int> nvlinks_between(const Machine& machine, int gpu_a, int gpu_b) {
  for (const GpuPath& path : machine.paths)
    if (std::minmax(path.gpu_a, path.gpu_b) == std::minmax(gpu_a, gpu_b) && path.links > 0 &&
        (path.kind == PathKind::nvlink || path.kind == PathKind::nvswitch))
      return path.links;
  return std::nullopt;
}

TestJob pair_of(const Machine& machine, const HealthTest& test, const Member& a, const Member& b) {
  TestJob job = *a.job;
  job.test = &test;
  job.subject = fmt::format("GPU {} and GPU {}", a.gpu->index, b.gpu->index);
  job.devices.push_back(b.job->devices.front());
  const TestOptions& other = b.job->options;
  job.options.max_bytes = optional_min(job.options.max_bytes, other.max_bytes);
  job.options.reserve_free_bytes =
      std::max(job.options.reserve_free_bytes, other.reserve_free_bytes);
  job.options.max_launch_ms = std::min(job.options.max_launch_ms, other.max_launch_ms);
  job.options.peer_path = name_path(machine, a.gpu->index, b.gpu->index);
  job.options.peer_links = nvlinks_between(machine, a.gpu->index, b.gpu->index);
  return job;
}

}  // namespace

std::optional<std::string> name_path(const Machine& machine, int gpu_a, int gpu_b) {
  for (const GpuPath& path : machine.paths) {
    if (std::minmax(path.gpu_a, path.gpu_b) != std::minmax(gpu_a, gpu_b)) continue;
    const auto bundle = [&](std::string name) {
      return path.links > 0 ? fmt::format("{}, {} links", name, path.links) : name;
    };
    switch (path.kind) {
      case PathKind::unknown:
      case PathKind::self:
        return std::nullopt;
      case PathKind::nvlink:
        return bundle("NVLink");
      case PathKind::nvswitch:
        return bundle("NVLink through NVSwitch");
      case PathKind::xgmi:
        return bundle("xGMI");
      default: {
        std::string kind(to_string(path.kind));
        std::replace(kind.begin(), kind.end(), '_', ' ');
        return "PCIe, " + kind;
      }
    }
  }
  return std::nullopt;
}

PairPlan plan_pairs(const Machine& machine, const HealthTest& test,
                    const std::vector<TestJob>& singles, const std::vector<UntestedGpu>& untested,
                    bool named) {
  PairPlan plan;
  const std::vector<Member> members = members_of(machine, singles);
  // Everybody meets everybody once, as in a tournament (the circle method): the first stays, the
  // others move on by one place each wave; an odd one out rests.
  const std::size_t places = (members.size() + 1) / 2 * 2;
  const auto at = [&](std::size_t wave, std::size_t place) {
    return place == 0 ? 0 : (place - 1 + wave) % (places - 1) + 1;
  };
  for (std::size_t wave = 0; wave + 1 < places; ++wave) {
    std::vector<TestJob> jobs;
    for (std::size_t place = 0; place < places / 2; ++place) {
      const auto [a, b] = std::minmax({at(wave, place), at(wave, places - 1 - place)});
      if (b < members.size()) jobs.push_back(pair_of(machine, test, members[a], members[b]));
    }
    if (!jobs.empty()) plan.waves.push_back(std::move(jobs));
  }
  for (std::size_t i = 0; i < untested.size(); ++i) {
    const Gpu& gpu = *untested[i].gpu;
    const auto tell = [&](const Gpu& other) {
      const auto [a, b] = std::minmax(gpu.index, other.index);
      plan.not_run.push_back(not_run(
          test, fmt::format("GPU {} and GPU {}", a, b), a == gpu.index ? &gpu : &other,
          {VerdictStatus::not_tested, fmt::format("GPU {}: {}", gpu.index, untested[i].reason)}));
    };
    for (const Member& member : members) tell(*member.gpu);
    for (std::size_t j = i + 1; j < untested.size(); ++j) tell(*untested[j].gpu);
  }
  if (named && plan.waves.empty() && plan.not_run.empty() &&
      members.size() + untested.size() == 1) {
    const Gpu& only = members.empty() ? *untested.front().gpu : *members.front().gpu;
    plan.not_run.push_back(not_run(test, fmt::format("GPU {}", only.index), &only,
                                   {VerdictStatus::not_tested, "there is no second GPU to pair"}));
  }
  return plan;
}

}  // namespace gpuready
