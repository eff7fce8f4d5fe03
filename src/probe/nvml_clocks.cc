// Holds a GPU's clocks at one frequency until the parent asks it to stop (SIGTERM) or ends, and
// then gives them back: also after a crash of the parent, for this process outlives it by a moment.
#include <unistd.h>

#include <charconv>
#include <csignal>

#include "jobs/parent_watch.h"
#include "probe/nvml_session.h"
#include "probe/probes.h"

namespace gpuready {
namespace {

constexpr unsigned kGraphicsClock = 0;  // NVML_CLOCK_GRAPHICS
constexpr timespec kLookEvery{.tv_sec = 0, .tv_nsec = 100'000'000};

sigset_t stop_signals() {
  sigset_t stop;
  sigemptyset(&stop);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&stop, signal);
  return stop;
}

}  // namespace

// Arguments: the GPU's UUID, and MHz or 0 for the default application clock.
void probe_nvml_clocks(ProbeWriter& writer, std::span<const std::string> args) {
  const pid_t parent = getppid();
  outlive_parent();
  signal(SIGPIPE, SIG_IGN);
  const sigset_t stop = stop_signals();
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  unsigned mhz = 0;
  if (args.size() != 2 ||
      std::from_chars(args[1].data(), args[1].data() + args[1].size(), mhz).ec != std::errc())
    return;
  const auto library = ProbeLibrary::load(writer, "libnvidia-ml.so.1", "GPUREADY_LIBNVML");
  if (!library) return;
  nvml::Session session{*library, writer, false, false, {}};
  auto* init = function_or_missing<int()>(session, "nvmlInit_v2", "nvmlInit_v2()");
  auto* find = function_or_missing<int(const char*, nvml::Device*)>(
      session, "nvmlDeviceGetHandleByUUID", "nvmlDeviceGetHandleByUUID()");
  auto* lock = function_or_missing<int(nvml::Device, unsigned, unsigned)>(
      session, "nvmlDeviceSetGpuLockedClocks", "nvmlDeviceSetGpuLockedClocks()");
  auto* reset = function_or_missing<int(nvml::Device)>(session, "nvmlDeviceResetGpuLockedClocks",
                                                       "nvmlDeviceResetGpuLockedClocks()");
  if (init == nullptr || find == nullptr || lock == nullptr || reset == nullptr) return;
  nvml::Device device = nullptr;
  if (ask(writer, "nvmlInit_v2()", [&](Json&) { return init(); }) != 0 ||
      ask(writer, "nvmlDeviceGetHandleByUUID()",
          [&](Json&) { return find(args[0].c_str(), &device); }) != 0)
    return;
  if (mhz == 0) {
    auto* usual = function_or_missing<int(nvml::Device, unsigned, unsigned*)>(
        session, "nvmlDeviceGetDefaultApplicationsClock",
        "nvmlDeviceGetDefaultApplicationsClock()");
    if (usual == nullptr || ask(writer, "nvmlDeviceGetDefaultApplicationsClock()",
                                [&](Json&) { return usual(device, kGraphicsClock, &mhz); }) != 0)
      return;
  }
  if (ask(writer, "nvmlDeviceSetGpuLockedClocks()", [&](Json& value) {
        value = mhz;
        return lock(device, mhz, mhz);
      }) != 0)
    return;
  while (sigtimedwait(&stop, nullptr, &kLookEvery) < 0 && getppid() == parent) {
  }
  ask(writer, "nvmlDeviceResetGpuLockedClocks()", [&](Json&) { return reset(device); });
}

}  // namespace gpuready
