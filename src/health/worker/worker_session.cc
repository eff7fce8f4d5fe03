#include "health/worker/worker_session.h"

#include "base/text.h"
#include "jobs/helper.h"

namespace gpuready {
namespace {

// Whoever interrupts us waits for an answer: a test stops between two launches, or is killed.
constexpr std::chrono::milliseconds kTimeToStop{400};

}  // namespace

void WorkerSession::close(std::chrono::milliseconds time_to_end) {
  if (closed) return;
  closed = true;
  if (!running()) return;
  child->end_channel();
  child->limit({.time = time_to_end});
}

std::unique_ptr<WorkerSession> start_session(const std::vector<DeviceChoice>& devices) {
  auto session = std::make_unique<WorkerSession>(WorkerSession{devices});
  Job job = helper_job({"__worker"});
  std::vector<std::string> cuda_devices;
  for (const DeviceChoice& device : devices) {
    job.args.insert(job.args.end(), {"--device", to_string(device)});
    if (device.executor == "cuda") cuda_devices.push_back(device.id);
  }
  if (!cuda_devices.empty()) {
    job.env.emplace_back("CUDA_VISIBLE_DEVICES", join(cuda_devices, ","));
    job.env.emplace_back("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  }
  job.limits.time = std::nullopt;  // each test has its own
  job.time_to_stop = kTimeToStop;
  auto child = RunningJob::start(job);
  if (child)
    session->child = std::move(*child);
  else
    session->why_not = child.error().message;
  return session;
}

}  // namespace gpuready
