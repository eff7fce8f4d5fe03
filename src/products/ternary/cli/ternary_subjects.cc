#include "ternary/cli/ternary_subjects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>

#include "base/clock.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "host/probe_document.h"
#include "jobs/helper.h"
#include "jobs/parent_watch.h"
#include "machine/gpu_choice.h"
#include "ternary/suite/verify.h"

namespace gpuready::cli {

void add_subjects(CommandSpec& command, TernarySubjects& subjects) {
  std::vector<std::string> names;
  for (const ternary::TierStatus& tier : ternary::tiers()) names.emplace_back(to_string(tier.tier));
  command.add({
      {.name = "--tier",
       .value = &subjects.tier_names,
       .help = "Only these tiers of the CPU",
       .type = "LIST",
       .one_of = names,
       .commas = true},
      {.name = "--device",
       .value = &subjects.device_names,
       .help = fmt::format("Only these: cpu; cuda or vulkan, for all GPUs through it, or vulkan:0; "
                           "or {}",
                           kGpuWords),
       .type = "LIST",
       .such_as = {"cpu", "cuda", "vulkan"},
       .commas = true},
      {.name = "--threads",
       .value = &subjects.threads,
       .help = "Threads of the CPU's tiers (default: all that may be used)",
       .type = "N",
       .range = Range{1, ternary::kMostThreads}},
      {.name = "--timeout",
       .value = &subjects.timeout_s,
       .help = "Time limit of the GPUs (default: 300 s)",
       .range = Range{0.1, 86400},
       .seconds = true},
      {.name = "--in-process",
       .value = &subjects.in_process,
       .help = "Use the GPUs in this process",
       .hidden = true},
  });
}

namespace {

// Whether CUDA or Vulkan did not answer, so that a device of theirs may exist.
bool may_exist(const Machine& machine, const ternary::Target& target) {
  if (target.kind == ternary::TargetKind::cuda)
    return std::ranges::any_of(machine.gpus,
                               [](const Gpu& gpu) { return gpu.vendor == Vendor::nvidia; }) &&
           std::ranges::none_of(machine.gpus,
                                [](const Gpu& gpu) { return gpu.cuda_ordinal.has_value(); });
  const auto& outcome = machine.vulkan.outcome;
  return outcome != to_string(ProbeOutcome::completed) &&
         outcome != to_string(ProbeOutcome::no_library);
}

// "vulkan:0": the form that only these commands take. It also names devices in software.
bool has_vulkan_device(const Machine& machine, std::string_view id) {
  const auto& devices = machine.vulkan.devices;
  const auto index = parse_uint(id);
  return (index && *index < devices.size()) ||
         std::ranges::any_of(devices, [&](const VulkanDevice& device) {
           return device.uuid && equals_ignore_case(*device.uuid, id);
         });
}

}  // namespace

Result<std::vector<ternary::Target>> targets_on(const Machine& machine, const std::string& word) {
  const auto target = ternary::parse_target(word);
  const auto named = gpus_named(machine, "--device", word);
  if (!named && target && target->kind != ternary::TargetKind::automatic &&
      (may_exist(machine, *target) ||
       (target->kind == ternary::TargetKind::vulkan && has_vulkan_device(machine, target->id))))
    return std::vector{*target};
  std::vector<ternary::Target> targets;
  for (const Gpu* gpu : TRY(named)) {
    const bool cuda = gpu->vendor == Vendor::nvidia;
    const auto vulkan = std::ranges::find(machine.vulkan.devices, gpu->pci, &VulkanDevice::pci);
    const auto uuid = cuda                                     ? gpu->uuid
                      : vulkan != machine.vulkan.devices.end() ? vulkan->uuid
                                                               : std::nullopt;
    if (!uuid)
      return fail(ErrorKind::bad_input, fmt::format("--device {}: neither CUDA nor Vulkan has {}",
                                                    printable(word), printable(gpu->name)));
    targets.push_back({cuda ? ternary::TargetKind::cuda : ternary::TargetKind::vulkan, *uuid});
  }
  return targets;
}

namespace {

// `checked`: by the parent, so that a device is not looked up again.
Result<std::vector<ternary::Target>> targets_named(const std::string& word, bool checked) {
  const auto target = ternary::parse_target(word);
  const bool executor = target && target->kind != ternary::TargetKind::automatic;
  if (executor && (checked || target->id.empty())) return std::vector{*target};
  const auto host = make_live_host();
  return targets_on(TRY(inspect_as_asked(*host, {}, {.full = true})), word);
}

}  // namespace

Result<void> check(TernarySubjects& subjects) {
  bool cpu = false;
  for (const std::string& name : subjects.device_names)
    for (auto& target : TRY(targets_named(name, subjects.in_process))) {
      if (target.kind == ternary::TargetKind::cpu)
        cpu = true;
      else
        subjects.targets.push_back(std::move(target));
    }
  for (const ternary::TierStatus& tier : ternary::tiers())
    for (const std::string& name : subjects.tier_names)
      if (to_string(tier.tier) == name) subjects.tiers.push_back(tier.tier);
  const bool named = !subjects.device_names.empty() || !subjects.tier_names.empty();
  subjects.cpu = !named || cpu || !subjects.tier_names.empty();
  subjects.gpus = !named || !subjects.targets.empty();
  if (subjects.in_process) {
    subjects.cpu = false;
    end_with_parent();
  }
  return {};
}

std::vector<ternary::Subject> subjects_here(const TernarySubjects& chosen) {
  std::vector<ternary::Subject> subjects;
  if (chosen.in_process) return ternary::gpu_subjects(chosen.targets);
  if (!chosen.cpu) return subjects;
  for (auto& subject : ternary::cpu_subjects(chosen.threads)) {
    subject.asked = std::ranges::any_of(chosen.tiers, [&](ternary::Tier tier) {
      return subject.name == "cpu/" + std::string(to_string(tier));
    });
    if (chosen.tiers.empty() || subject.asked) subjects.push_back(std::move(subject));
  }
  return subjects;
}

ternary::SubjectResult lost_gpu(const GpuOutcome& outcome, bool asked) {
  using enum ternary::CheckStatus;
  ternary::SubjectResult lost;
  lost.name = "gpu";
  lost.asked = asked;
  lost.status = outcome.crashed ? failed : outcome.timed_out ? timed_out : not_tested;
  lost.reason = outcome.reason.empty() ? "the process for the GPUs wrote no report of its own"
                                       : outcome.reason;
  return lost;
}

GpuChild::GpuChild(const std::string& command, const TernarySubjects& subjects,
                   const std::vector<std::string>& more)
    : timeout_s_(subjects.timeout_s) {
  Job job = helper_job({"ternary", command, "--in-process", "--json", "-"});
  for (const ternary::Target& target : subjects.targets) {
    job.args.emplace_back("--device");
    job.args.push_back(to_string(target));
  }
  job.args.insert(job.args.end(), more.begin(), more.end());
  job.limits.time = std::chrono::milliseconds(static_cast<long>(subjects.timeout_s * 1000));
  auto started = RunningJob::start(job);
  if (started)
    child_ = std::move(*started);
  else
    reason_ = "the process for the GPUs does not start: " + started.error().message;
}

GpuOutcome GpuChild::finish() {
  GpuOutcome outcome;
  if (!child_) {
    outcome.reason = reason_;
    return outcome;
  }
  while (!child_->finished()) poll_jobs({&*child_}, Deadline::max(), {.cancel = &interrupted()});
  const JobOutcome& result = child_->outcome();
  if (result.end == JobEnd::timed_out || result.end == JobEnd::hung) {
    outcome.timed_out = true;
    outcome.reason = fmt::format("the GPUs did not answer within {} s", timeout_s_);
    if (result.end == JobEnd::hung)
      outcome.reason +=
          fmt::format(": process {} is in uninterruptible sleep in the driver{}", child_->pid(),
                      result.waits_in.empty() ? "" : " (" + result.waits_in + ")");
    return outcome;
  }
  if (result.end == JobEnd::signalled) {
    outcome.crashed = true;
    outcome.reason =
        fmt::format("the process that used the GPUs was ended by {}", strsignal(result.signal));
    return outcome;
  }
  // One that was cancelled tells what it knew by then, if its driver let it.
  auto document = parse_json(result.out, "what the process for the GPUs wrote");
  if (document)
    outcome.document = std::move(*document);
  else if (result.end == JobEnd::cancelled)
    outcome.reason = ternary::kInterrupted;
  else
    outcome.reason = fmt::format("the process that used the GPUs ended with code {}: {}",
                                 result.exit_code, printable(trim(result.err)));
  return outcome;
}

}  // namespace gpuready::cli
