#include "host/clock_lock.h"

#include <fmt/format.h>

#include "base/vendor_codes.h"
#include "host/probe_document.h"
#include "jobs/helper.h"

namespace gpuready {
namespace {

constexpr const char* kProbe = "nvml-clocks";
constexpr std::string_view kLock = "nvmlDeviceSetGpuLockedClocks()";
constexpr std::string_view kReset = "nvmlDeviceResetGpuLockedClocks()";
constexpr std::chrono::seconds kTimeToAnswer{30}, kTimeToStop{10};

// What the child has said until it has answered `call` or ended.
ProbeDocument heard(RunningJob& child, std::string_view call, std::chrono::seconds limit) {
  const Deadline until = deadline_in(limit);
  while (true) {
    ProbeDocument document = probe_document_from_lines(child.text(kChannel), kProbe);
    const ProbeCall* answer = document.find(call);
    if (answer != nullptr || child.finished() || Clock::now() >= until) return document;
    poll_jobs({&child}, until);
  }
}

Error why_not(const ProbeDocument& document) {
  if (document.outcome == ProbeOutcome::no_library)
    return {ErrorKind::unsupported,
            "the driver's library cannot be loaded: " + document.library_error};
  for (const auto& [name, call] : document.calls) {
    if (call.missing) return {ErrorKind::unsupported, "the driver has no " + name};
    if (call.code == nvml_code::kNoPermission) return {ErrorKind::no_permission, "it wants root"};
    if (call.code == nvml_code::kNotSupported)
      return {ErrorKind::unsupported, "the GPU does not support it"};
    if (call.code != 0) return {ErrorKind::device, fmt::format("{} returned {}", name, call.code)};
  }
  return {ErrorKind::device, "the driver did not answer"};
}

}  // namespace

Job ClockLock::job(const std::string& uuid, unsigned mhz) {
  Job job = helper_job({"__probe", kProbe, uuid, std::to_string(mhz)});
  job.limits.time = std::nullopt;  // as long as it is held
  return job;
}

Result<std::unique_ptr<ClockLock>> ClockLock::take(const std::string& uuid, unsigned mhz) {
  RunningJob child = TRY(RunningJob::start(job(uuid, mhz)));
  const ProbeDocument document = heard(child, kLock, kTimeToAnswer);
  const ProbeCall* locked = document.find(kLock);
  if (locked == nullptr || !locked->ok() || !locked->value.is_number_unsigned()) {
    Error error = why_not(document);
    error.message = fmt::format("the clocks of {} cannot be locked: {}", uuid, error.message);
    return std::unexpected(std::move(error));
  }
  return std::unique_ptr<ClockLock>(
      new ClockLock(std::move(child), uuid, locked->value.get<unsigned>()));
}

Result<void> ClockLock::release() {
  held_ = false;
  child_.stop();
  const ProbeDocument document = heard(child_, kReset, kTimeToStop);
  const ProbeCall* reset = document.find(kReset);
  if (reset != nullptr && reset->ok()) return {};
  return fail(
      ErrorKind::device,
      fmt::format("the clocks of {} may still be locked: run nvidia-smi -i {} -rgc", uuid_, uuid_));
}

}  // namespace gpuready
