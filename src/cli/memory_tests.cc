#include "cli/memory_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/units.h"
#include "cli/terminal.h"
#include "health/worker.h"

namespace gpuready::cli {
namespace {

constexpr std::uint64_t kHostMemoryBytes = 256 * MiB;

WorkerJob gpu_job(const Machine& machine, const PlannedTest& test, const MemoryTestRun& run) {
  WorkerJob job;
  job.subject = test.subject;
  job.uuid = test.uuid;
  if (const auto& pci = machine.gpus[test.gpu].pci) job.pci_address = pci->text();
  job.options.max_bytes = test.max_bytes;
  job.options.reserve_free_bytes = test.keep_free_bytes;
  if (test.max_launch_ms) job.options.max_launch_ms = *test.max_launch_ms;
  job.options.inject = run.inject;
  return job;
}

WorkerJob host_job(const MemoryTestRun& run) {
  WorkerJob job;
  job.subject = "host memory";
  job.options.max_bytes = run.plan.max_bytes.value_or(kHostMemoryBytes);
  job.options.copy_traffic_bytes = 2 * *job.options.max_bytes;
  job.options.inject = run.inject;
  return job;
}

// The fitness benchmark of every GPU, after their memory tests: a full memory leaves it no room.
std::vector<WorkerJob> benchmark_jobs(std::vector<WorkerJob> jobs, double limit_ms) {
  std::erase_if(jobs, [](const WorkerJob& job) { return job.uuid.empty(); });
  for (auto& job : jobs) {
    job.benchmark.emplace();
    job.benchmark->limit_ms = limit_ms;
    job.benchmark->limit_source = "RUNPOD_GPU_BENCHMARK_TIMEOUT";
  }
  return jobs;
}

void append(std::vector<Verdict>& verdicts, std::vector<Verdict> more) {
  std::move(more.begin(), more.end(), std::back_inserter(verdicts));
}

std::string progress_text(const std::vector<WorkerJob>& jobs,
                          const std::vector<WorkerProgress>& state) {
  std::string text = "Testing memory:";
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto& progress = state[i];
    const std::string done = progress.total_bytes == 0
                                 ? "starting"
                                 : format_percent(static_cast<double>(progress.done_bytes) /
                                                      static_cast<double>(progress.total_bytes),
                                                  0);
    text += fmt::format("{} {} {}", i == 0 ? "" : ",", jobs[i].subject, done);
  }
  return text;
}

// The verdicts of untested GPUs stand between the others, in the machine's order.
void sort_by_subject(std::vector<Verdict>& verdicts) {
  std::sort(verdicts.begin(), verdicts.end(), [](const Verdict& a, const Verdict& b) {
    const auto order = [](const Verdict& v) {
      return std::tuple(v.subject.size(), v.subject, v.test != "memory");
    };
    return order(a) < order(b);
  });
}

// NVML alone tells what the driver keeps for itself; the workers ask CUDA.
void add_reserves(const Machine& machine, std::vector<Verdict>& verdicts) {
  for (auto& verdict : verdicts) {
    const Gpu* gpu = verdict.uuid ? machine.find_gpu_by_uuid(*verdict.uuid) : nullptr;
    if (gpu && verdict.coverage) verdict.coverage->reserved_bytes = gpu->memory.reserved_bytes;
  }
}

}  // namespace

std::vector<Verdict> run_memory_tests(const Machine& machine, const MemoryTestRun& run) {
  TestPlan plan = plan_memory_tests(machine, run.plan);
  std::vector<WorkerJob> jobs;
  for (const auto& test : plan.run) jobs.push_back(gpu_job(machine, test, run));
  if (plan.host_memory) jobs.push_back(host_job(run));

  catch_interrupts();
  ProgressLine line(run.quiet);
  std::vector<WorkerProgress> state(jobs.size());
  WorkerHooks hooks;
  hooks.cancel = &interrupted();
  hooks.progress = [&](const WorkerProgress& progress) {
    state[progress.job] = progress;
    line.show(progress_text(jobs, state));
  };
  auto verdicts = run_workers(jobs, hooks);
  if (run.benchmark_limit_ms)
    append(verdicts, run_workers(benchmark_jobs(jobs, *run.benchmark_limit_ms),
                                 {.progress = {}, .cancel = &interrupted()}));
  append(verdicts, std::move(plan.not_run));
  add_reserves(machine, verdicts);
  sort_by_subject(verdicts);
  return verdicts;
}

}  // namespace gpuready::cli
