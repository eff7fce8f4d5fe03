#include "pack/store/model_proof.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/text.h"
#include "jobs/parent_watch.h"
#include "jobs/replace.h"
#include "pack/store/sandbox.h"

namespace gpuready::pack {
namespace {

constexpr std::size_t kKeptOutput = 64u << 10, kReportedOutput = 500;

Job model_job(const ModelPlan& plan) {
  Job job = sandbox_job(kModelChild, {plan.folder, plan.library_folders},
                        {std::to_string(plan.memory_bytes)});
  job.args.insert(job.args.end(), plan.model.load.begin(), plan.model.load.end());
  job.env.emplace_back("CUDA_VISIBLE_DEVICES", plan.device);
  job.env.emplace_back("PACK_MODEL", plan.model.name);
  job.limits.time = std::chrono::seconds(plan.model.seconds);
  job.output_limit_bytes = kKeptOutput;
  return job;
}

std::string ending_of(const JobOutcome& outcome, const Model& model) {
  switch (outcome.end) {
    case JobEnd::exited:
      return fmt::format("exit code {}", outcome.exit_code);
    case JobEnd::signalled:
      return fmt::format("signal {}", outcome.signal);
    case JobEnd::timed_out:
      return fmt::format("no end within {} s", model.seconds);
    default:
      return std::string(to_string(outcome.end));
  }
}

}  // namespace

std::optional<std::string> run_model_test(const ModelPlan& plan, const std::atomic<bool>* cancel) {
  const auto outcome = run_job(model_job(plan), {.cancel = cancel});
  if (!outcome) return printable(outcome.error().message);
  if (outcome->end == JobEnd::exited && outcome->exit_code == 0) return std::nullopt;
  const auto text = trim(outcome->err.empty() ? outcome->out : outcome->err);
  const auto told = text.substr(text.size() - std::min(text.size(), kReportedOutput));
  return fmt::format("{}: {}{}{}", plan.model.load.front(), ending_of(*outcome, plan.model),
                     told.empty() ? "" : ": ", printable(told));
}

int run_model_child(std::span<const std::string> args) {
  return run_in_sandbox(args, SandboxNetwork::open, [](const SandboxChild& child) {
    close(kChannelDescriptor);
    const auto& given = child.args;
    const auto memory = given.size() < 2 ? std::nullopt : parse_uint(given[0]);
    if (!memory) return 2;
    const auto error = child.ready ? replace_program(child.folder + "/" + given[1],
                                                     {given.begin() + 2, given.end()}, *memory)
                                   : child.ready.error();
    std::fputs((error.message + "\n").c_str(), stderr);
    return 127;
  });
}

}  // namespace gpuready::pack
