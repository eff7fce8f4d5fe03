// MIG instances of a GPU, and the licence of a virtual one.
#include "probe/nvml_adapters.h"
#include "probe/nvml_session.h"

namespace gpuready::nvml {
namespace {
constexpr unsigned kMaxMigDevices = 64;  // 7 today
}

void ask_mig(Session& session, const Target& target) {
  constexpr const char* kMode = "nvmlDeviceGetMigMode";
  constexpr const char* kCount = "nvmlDeviceGetMaxMigDeviceCount";
  constexpr const char* kHandle = "nvmlDeviceGetMigDeviceHandleByIndex";
  // The table has told the mode already; this call decides whether more is asked.
  auto* mode = session.library.function<int(Device, unsigned*, unsigned*)>(kMode);
  unsigned current = 0, pending = 0;
  if (mode == nullptr || mode(target.handle, &current, &pending) != kSuccess || current == 0)
    return;

  const auto count_key = call_key(kCount, target.id);
  auto* count = function_or_missing<int(Device, unsigned*)>(session, kCount, count_key);
  if (count == nullptr) return;
  unsigned most = 0;
  ask(session.writer, count_key, [&](Json& value) {
    const int code = count(target.handle, &most);
    value = most;
    return code;
  });
  auto* handle_of = session.library.function<int(Device, unsigned, Device*)>(kHandle);
  for (unsigned i = 0; handle_of != nullptr && i < most && i < kMaxMigDevices; ++i) {
    Target instance;
    instance.id = target.id + "/mig" + std::to_string(i);
    const int code = ask(session.writer, call_key(kHandle, target.id, std::to_string(i)),
                         [&](Json&) { return handle_of(target.handle, i, &instance.handle); });
    if (code == kSuccess) ask_mig_device(session, instance);  // not found: this slot is free
  }
}

}  // namespace gpuready::nvml
