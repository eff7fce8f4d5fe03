#include "health/worker/worker_session.h"

#include "base/text.h"

namespace gpuready {

void WorkerSession::close() {
  if (closed) return;
  if (running()) child->tell_no_more();
  closed = true;
  closed_at = Clock::now();
}

std::unique_ptr<WorkerSession> start_session(const std::vector<DeviceChoice>& devices,
                                             std::chrono::milliseconds limit) {
  auto session = std::make_unique<WorkerSession>(WorkerSession{devices});
  Command command;
  command.program = helper_path();
  command.args = {"__worker"};
  std::vector<std::string> cuda_devices;
  for (const DeviceChoice& device : devices) {
    command.args.insert(command.args.end(), {"--device", to_string(device)});
    if (device.executor == "cuda") cuda_devices.push_back(device.id);
  }
  if (!cuda_devices.empty())
    command.env = {{"CUDA_VISIBLE_DEVICES", join(cuda_devices, ",")},
                   {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                   {"NCCL_NVLS_ENABLE", "0"}};
  command.timeout = limit;
  command.document_pipe = true;
  auto child = Child::start(command);
  if (child)
    session->child.emplace(std::move(*child));
  else
    session->why_not = child.error().message;
  return session;
}

}  // namespace gpuready
