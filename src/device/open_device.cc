#include "device/open_device.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "device/cuda/cuda_device.h"
#include "device/hip/hip_device.h"
#include "device/vulkan/vulkan_device.h"

namespace gpuready {
namespace {

using Open = Result<std::unique_ptr<Device>> (*)(std::string_view id, const CpuDeviceOptions& cpu);
using FaultOf = DeviceFault (*)(const Error& error);

struct Executor {
  std::string_view name;
  std::string_view unit;
  Open open;
  FaultOf fault_of;
  std::string_view caveat = {};
};
const std::array kExecutors = {
    Executor{"cpu", "thread",
             [](std::string_view, const CpuDeviceOptions& cpu) {
               return Result<std::unique_ptr<Device>>(make_cpu_device(cpu));
             },
             [](const Error&) { return DeviceFault::none; }},
    Executor{"cuda", "SM",
             [](std::string_view id, const CpuDeviceOptions&) { return open_cuda_device(id); },
             cuda_fault_of},
    Executor{"hip", "CU",
             [](std::string_view id, const CpuDeviceOptions&) { return open_hip_device(id); },
             hip_fault_of, kHipCaveat},
    Executor{"vulkan", "group",
             [](std::string_view id, const CpuDeviceOptions&) { return open_vulkan_device(id); },
             vulkan_fault_of},
};

const Executor* find_executor(std::string_view name) {
  for (const Executor& executor : kExecutors)
    if (executor.name == name) return &executor;
  return nullptr;
}

}  // namespace

std::string to_string(const DeviceChoice& choice) {
  return choice.id.empty() ? choice.executor : choice.executor + ":" + choice.id;
}

Result<DeviceChoice> parse_device_choice(std::string_view text) {
  const auto colon = text.find(':');
  DeviceChoice choice{std::string(text.substr(0, colon)),
                      colon == text.npos ? std::string() : std::string(text.substr(colon + 1))};
  if (!find_executor(choice.executor) || choice.id.empty() != (choice.executor == "cpu"))
    return fail(ErrorKind::bad_input, fmt::format("{} names no device", printable(text)));
  return choice;
}

Result<std::unique_ptr<Device>> open_device(const DeviceChoice& choice,
                                            const CpuDeviceOptions& cpu) {
  const Executor* executor = find_executor(choice.executor);
  if (!executor)
    return fail(ErrorKind::unsupported,
                fmt::format("there is no executor {}", printable(choice.executor)));
  return executor->open(choice.id, cpu);
}

DeviceFault fault_of_opening(const DeviceChoice& choice, const Error& error) {
  const Executor* executor = find_executor(choice.executor);
  return executor ? executor->fault_of(error) : DeviceFault::none;
}

std::string_view executor_unit(std::string_view name) {
  const Executor* executor = find_executor(name);
  return executor ? executor->unit : "group";
}

std::string_view executor_caveat(std::string_view name) {
  const Executor* executor = find_executor(name);
  return executor ? executor->caveat : std::string_view();
}

}  // namespace gpuready
