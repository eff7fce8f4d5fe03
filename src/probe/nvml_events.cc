// Listens for Xids as NVML reports them, until the parent asks it to stop (SIGTERM) or ends. A
// container that may not read the kernel log learns of an Xid in no other way.
#include <csignal>

#include "base/text.h"
#include "probe/nvml_session.h"
#include "probe/probes.h"

namespace gpuready {
namespace {

// NVML API reference, "Event Handling Methods".
constexpr unsigned long long kXidCriticalError = 0x8;
constexpr int kTimeout = 10;      // NVML_ERROR_TIMEOUT
constexpr unsigned kWaitMs = 50;  // the longest that a stop is not noticed
constexpr int kMostEvents = 1000;

using EventSet = struct EventSetOpaque*;
struct EventData {  // nvmlEventData_t as of nvmlEventSetWait_v2
  nvml::Device device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(EventData) == 32);

volatile std::sig_atomic_t stop = 0;

struct Calls {
  int (*init)();
  int (*count)(unsigned*);
  int (*handle)(unsigned, nvml::Device*);
  int (*pci)(nvml::Device, nvml::PciInfo*);
  int (*create)(EventSet*);
  int (*add)(nvml::Device, unsigned long long, EventSet);
  int (*wait)(EventSet, EventData*, unsigned);
};

template <class Function>
bool find(const ProbeLibrary& library, ProbeWriter& writer, const char* symbol,
          Function*& function) {
  function = library.function<Function>(symbol);
  if (function == nullptr) writer.missing(call_key(symbol));
  return function != nullptr;
}

std::string address_of(const Calls& calls, nvml::Device device) {
  nvml::PciInfo info{};
  if (calls.pci(device, &info) != nvml::kSuccess) return {};
  info.bus_id[sizeof info.bus_id - 1] = 0;
  return printable(info.bus_id);
}

void listen(const Calls& calls, ProbeWriter& writer, EventSet set) {
  for (int number = 0; number < kMostEvents && stop == 0;) {
    EventData event{};
    const int code = calls.wait(set, &event, kWaitMs);
    if (code == kTimeout) continue;
    Json value;
    if (code == nvml::kSuccess)
      value = {{"pci", address_of(calls, event.device)}, {"xid", event.data}};
    writer.answer(call_key("nvmlEventSetWait_v2", std::to_string(number++)), code, value);
    if (code != nvml::kSuccess) return;  // a lost GPU, say: waiting on would spin
  }
}

}  // namespace

void probe_nvml_events(ProbeWriter& writer, std::span<const std::string>) {
  std::signal(SIGTERM, [](int) { stop = 1; });
  const auto library = ProbeLibrary::load(writer, "libnvidia-ml.so.1", "GPUREADY_LIBNVML",
                                          {"/usr/lib/wsl/lib/libnvidia-ml.so.1"});
  if (!library) return;
  Calls calls{};
  if (!find(*library, writer, "nvmlInit_v2", calls.init) ||
      !find(*library, writer, "nvmlDeviceGetCount_v2", calls.count) ||
      !find(*library, writer, "nvmlDeviceGetHandleByIndex_v2", calls.handle) ||
      !find(*library, writer, "nvmlDeviceGetPciInfo_v3", calls.pci) ||
      !find(*library, writer, "nvmlEventSetCreate", calls.create) ||
      !find(*library, writer, "nvmlDeviceRegisterEvents", calls.add) ||
      !find(*library, writer, "nvmlEventSetWait_v2", calls.wait))
    return;
  if (ask(writer, "nvmlInit_v2()", [&](Json&) { return calls.init(); }) != nvml::kSuccess) return;
  unsigned count = 0;
  EventSet set = nullptr;
  if (calls.count(&count) != nvml::kSuccess) return;
  if (ask(writer, "nvmlEventSetCreate()", [&](Json&) { return calls.create(&set); }) !=
      nvml::kSuccess)
    return;
  for (unsigned i = 0; i < count && i < 1024; ++i) {
    nvml::Device device = nullptr;
    if (calls.handle(i, &device) != nvml::kSuccess) continue;
    ask(writer, call_key("nvmlDeviceRegisterEvents", std::to_string(i)),
        [&](Json&) { return calls.add(device, kXidCriticalError, set); });
  }
  listen(calls, writer, set);
}

}  // namespace gpuready
