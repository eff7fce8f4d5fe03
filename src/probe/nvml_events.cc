// Watches GPUs while something else runs, until the parent asks it to stop (SIGTERM) or ends: hears
// Xids as NVML reports them, since a container that may not read the kernel log learns of an Xid in
// no other way, and samples clocks, power, temperatures and counters.
//
// Listening and sampling are threads, because each call may hang in a broken driver: what the other
// one learnt, and what was learnt before, is reported all the same.
#include <csignal>

#include <chrono>
#include <condition_variable>
#include <thread>

#include "base/text.h"
#include "probe/nvml_sampler.h"
#include "probe/nvml_session.h"
#include "probe/probes.h"

namespace gpuready {
namespace {

using std::chrono::milliseconds;

// NVML API reference, "Event Handling Methods".
constexpr unsigned long long kXidCriticalError = 0x8;
constexpr int kTimeout = 10;      // NVML_ERROR_TIMEOUT
constexpr unsigned kWaitMs = 10;  // the longest that a stop is not noticed
constexpr milliseconds kStopGrace{80};
constexpr int kMostEvents = 1000;
constexpr unsigned kMostGpus = 1024;
constexpr int kMostErrors = 10;
constexpr milliseconds kAfterError{100};
constexpr milliseconds kSampleEvery{100}, kCountersEvery{1000};
// Quick tests take a few tenths of a second, and their clocks are judged, too.
constexpr milliseconds kSampleEveryAtFirst{25}, kAtFirst{2000};
// Sampling takes at most this part of a processor, however slow the driver answers.
constexpr int kShareOfTime = 5;

using EventSet = struct EventSetOpaque*;
struct EventData {  // nvmlEventData_t as of nvmlEventSetWait_v2
  nvml::Device device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(EventData) == 32);

struct Calls {
  int (*init)();
  int (*count)(unsigned*);
  int (*handle)(unsigned, nvml::Device*);
  int (*handle_at)(const char*, nvml::Device*);
  int (*pci)(nvml::Device, nvml::PciInfo*);
  int (*uuid)(nvml::Device, char*, unsigned);
  int (*create)(EventSet*);
  int (*add)(nvml::Device, unsigned long long, EventSet);
  int (*wait)(EventSet, EventData*, unsigned);
};

// What the threads share. It is never destroyed: a thread that hangs in the driver keeps using it
// until the process ends.
class Watch {
 public:
  // Of all GPUs, or of those at these addresses alone.
  Watch(ProbeWriter& writer, ProbeLibrary library, std::vector<std::string> only)
      : writer_(writer), library_(library), only_(std::move(only)) {}

  void run();   // starts NVML, then both threads; returns when listening has ended
  bool over();  // nothing more is to come
  // Ends listening and sampling, and tells what was sampled. Nothing is reported after that.
  void finish();

 private:
  template <class Tell>
  void tell(Tell&& tell) {
    const std::lock_guard lock(mutex_);
    if (!closed_) tell(writer_);
  }
  template <class Call>
  int ask(const std::string& key, Call&& call) {
    tell([&](ProbeWriter& writer) { writer.begin(key); });
    const int code = call();
    tell([&](ProbeWriter& writer) { writer.answer(key, code); });
    return code;
  }
  template <class Function>
  bool find(const char* symbol, Function*& function) {
    function = library_.function<Function>(symbol);
    if (function == nullptr) tell([&](ProbeWriter& writer) { writer.missing(call_key(symbol)); });
    return function != nullptr;
  }
  bool start();
  bool find_all();
  bool find_only();
  void add(const std::string& id, nvml::Device device);
  std::string address_of(nvml::Device device) const;
  std::string uuid_of(nvml::Device device) const;
  EventSet listen_to_all();
  void listen();
  void hear(EventSet set);
  void sample();

  ProbeWriter& writer_;
  const ProbeLibrary library_;
  const std::vector<std::string> only_;
  Calls calls_{};
  std::vector<nvml::SampledGpu> gpus_;
  std::optional<nvml::Sampler> sampler_;
  std::mutex mutex_;  // of what follows and of the writer; never held during a call into NVML
  std::condition_variable changed_;
  bool closed_ = false, stop_ = false, sampling_ = false;
  int running_ = 1;  // threads: the one that runs run()
};

std::string Watch::address_of(nvml::Device device) const {
  nvml::PciInfo info{};
  if (calls_.pci(device, &info) != nvml::kSuccess) return {};
  info.bus_id[sizeof info.bus_id - 1] = 0;
  return printable(info.bus_id);
}

std::string Watch::uuid_of(nvml::Device device) const {
  char text[96] = {};
  if (calls_.uuid == nullptr || calls_.uuid(device, text, sizeof text - 1) != nvml::kSuccess)
    return {};
  return printable(text);
}

bool Watch::start() {
  if (!find("nvmlInit_v2", calls_.init) || !find("nvmlDeviceGetPciInfo_v3", calls_.pci))
    return false;
  calls_.uuid = library_.function<int(nvml::Device, char*, unsigned)>("nvmlDeviceGetUUID");
  if (ask("nvmlInit_v2()", calls_.init) != nvml::kSuccess) return false;
  return only_.empty() ? find_all() : find_only();
}

void Watch::add(const std::string& id, nvml::Device device) {
  gpus_.push_back({device, id, address_of(device), uuid_of(device)});
}

bool Watch::find_all() {
  if (!find("nvmlDeviceGetCount_v2", calls_.count) ||
      !find("nvmlDeviceGetHandleByIndex_v2", calls_.handle))
    return false;
  unsigned count = 0;
  if (ask("nvmlDeviceGetCount_v2()", [&] { return calls_.count(&count); }) != nvml::kSuccess)
    return false;
  for (unsigned i = 0; i < count && i < kMostGpus; ++i) {
    nvml::Device device = nullptr;
    if (calls_.handle(i, &device) == nvml::kSuccess) add(std::to_string(i), device);
  }
  return true;
}

// By address: whoever goes through the indices wakes suspended GPUs.
bool Watch::find_only() {
  if (!find("nvmlDeviceGetHandleByPciBusId_v2", calls_.handle_at)) return false;
  for (const std::string& address : only_) {
    nvml::Device device = nullptr;
    if (gpus_.size() < kMostGpus && ask(call_key("nvmlDeviceGetHandleByPciBusId_v2", address), [&] {
                                      return calls_.handle_at(address.c_str(), &device);
                                    }) == nvml::kSuccess)
      add(address, device);
  }
  return true;
}

void Watch::run() {
  if (start()) {
    {
      const std::lock_guard lock(mutex_);
      sampler_.emplace(library_, gpus_);
      sampling_ = true;
      ++running_;
    }
    std::thread([this] { sample(); }).detach();
    listen();
  }
  const std::lock_guard lock(mutex_);
  --running_;
  changed_.notify_all();
}

// A set of those that can still be listened to; nothing when none can.
EventSet Watch::listen_to_all() {
  EventSet set = nullptr;
  if (ask("nvmlEventSetCreate()", [&] { return calls_.create(&set); }) != nvml::kSuccess)
    return nullptr;
  bool any = false;
  for (const nvml::SampledGpu& gpu : gpus_)
    if (ask(call_key("nvmlDeviceRegisterEvents", gpu.id),
            [&] { return calls_.add(gpu.handle, kXidCriticalError, set); }) == nvml::kSuccess)
      any = true;
  return any ? set : nullptr;
}

void Watch::listen() {
  if (!find("nvmlEventSetCreate", calls_.create) || !find("nvmlDeviceRegisterEvents", calls_.add) ||
      !find("nvmlEventSetWait_v2", calls_.wait))
    return;
  if (EventSet set = listen_to_all()) hear(set);
}

void Watch::hear(EventSet set) {
  const auto stopped = [this] {
    const std::lock_guard lock(mutex_);
    return stop_;
  };
  int errors = 0;
  for (int number = 0; number < kMostEvents && !stopped();) {
    EventData event{};
    const int code = calls_.wait(set, &event, kWaitMs);
    if (code == kTimeout) continue;
    Json value;
    if (code == nvml::kSuccess)
      value = {{"pci", address_of(event.device)}, {"xid", event.data}, {"at_ms", monotonic_ms()}};
    tell([&](ProbeWriter& writer) {
      writer.answer(call_key("nvmlEventSetWait_v2", std::to_string(number++)), code, value);
    });
    if (code == nvml::kSuccess) continue;
    // A lost GPU, say, which would fail every further wait. The others are listened to without it.
    std::this_thread::sleep_for(kAfterError);
    if (++errors > kMostErrors || !(set = listen_to_all())) return;
  }
}

void Watch::sample() {
  const auto start = Clock::now();
  auto counters_at = start;
  for (auto next = Clock::now();;) {
    const auto begun = Clock::now();
    const bool counters = begun >= counters_at;
    if (counters) counters_at += kCountersEvery;
    sampler_->take(counters);
    const auto now = Clock::now();
    const auto every = now - start < kAtFirst ? kSampleEveryAtFirst : kSampleEvery;
    next = std::max(next + every, now + (kShareOfTime - 1) * (now - begun));
    std::unique_lock lock(mutex_);
    if (changed_.wait_until(lock, next, [this] { return stop_; })) break;
  }
  // The counters once more, so that what the last second brought is there.
  sampler_->take(true);
  const std::lock_guard lock(mutex_);
  --running_;
  changed_.notify_all();
}

bool Watch::over() {
  const std::lock_guard lock(mutex_);
  return running_ == 0;
}

void Watch::finish() {
  std::unique_lock lock(mutex_);
  stop_ = true;
  changed_.notify_all();
  changed_.wait_for(lock, kStopGrace, [this] { return running_ == 0; });
  if (sampling_) {
    for (const auto& [key, code] : sampler_->refusals()) writer_.answer(key, code);
    for (const auto& [key, series] : sampler_->series()) writer_.answer(key, 0, series);
  }
  closed_ = true;
}

// Waits for a stop, or until there is nothing to wait for.
void wait_for_stop(Watch& watch, const sigset_t& stop) {
  constexpr timespec kLookEvery{.tv_sec = 0, .tv_nsec = 100'000'000};
  while (sigtimedwait(&stop, nullptr, &kLookEvery) < 0 && !watch.over()) {
  }
}

}  // namespace

// Arguments: addresses of the GPUs to watch; none: all that there are.
void probe_nvml_events(ProbeWriter& writer, std::span<const std::string> args) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);  // before there are threads, which inherit it
  const auto library = ProbeLibrary::load(writer, "libnvidia-ml.so.1", "GPUREADY_LIBNVML",
                                          {"/usr/lib/wsl/lib/libnvidia-ml.so.1"});
  if (!library) return;
  auto* watch = new Watch(writer, *library, {args.begin(), args.end()});
  std::thread([watch] { watch->run(); }).detach();
  wait_for_stop(*watch, stop);
  watch->finish();
}

}  // namespace gpuready
