#include "pack/store/model_proof.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "jobs/lifeline.h"
#include "jobs/privileges.h"
#include "jobs/replace.h"
#include "pack/store/apart.h"

namespace gpuready::pack {
namespace {

constexpr std::size_t kKeptOutput = 64u << 10, kToldOutput = 500;

Job model_job(const ModelPlan& plan) {
  Job job = job_apart({"__model", std::to_string(plan.memory_bytes), plan.folder});
  job.args.insert(job.args.end(), plan.model.load.begin(), plan.model.load.end());
  auto folders = plan.library_folders;
  if (const char* before = getenv("LD_LIBRARY_PATH"); before != nullptr && *before != 0)
    folders.push_back(before);
  job.env.emplace_back("LD_LIBRARY_PATH", join(folders, ":"));
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

// What the child does before it becomes the program.
Result<void> prepare_child(const std::string& folder, const std::string& program) {
  if (chdir(folder.c_str()) != 0) return fail_errno(folder, errno);
  if (access(program.c_str(), R_OK | X_OK) != 0) TRY(keep_reading_as_another_program());
  return {};
}

}  // namespace

std::optional<std::string> run_model_test(const ModelPlan& plan, const std::atomic<bool>* cancel) {
  const auto outcome = run_job(model_job(plan), {.cancel = cancel});
  if (!outcome) return printable(outcome.error().message);
  if (outcome->end == JobEnd::exited && outcome->exit_code == 0) return std::nullopt;
  const auto text = trim(outcome->err.empty() ? outcome->out : outcome->err);
  const auto told = text.substr(text.size() - std::min(text.size(), kToldOutput));
  return fmt::format("{}: {}{}{}", plan.model.load.front(), ending_of(*outcome, plan.model),
                     told.empty() ? "" : ": ", printable(told));
}

int run_model_child(std::span<const std::string> args) {
  const auto memory = args.size() < 3 ? std::nullopt : parse_uint(args[0]);
  if (!memory) return 2;
  return run_apart([&](const Result<void>& ready) {
    close(kChannelDescriptor);
    const std::string &folder = args[1], program = fmt::format("{}/{}", folder, args[2]);
    const auto prepared = ready ? prepare_child(folder, program) : ready;
    const auto error = prepared ? replace_program(program, {args.begin() + 3, args.end()}, *memory)
                                : prepared.error();
    std::fputs((error.message + "\n").c_str(), stderr);
    return 127;
  });
}

}  // namespace gpuready::pack
