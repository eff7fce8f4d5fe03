// The child side: opens one device, tests it, and tells on descriptor 3.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <memory>

#include "base/clock.h"
#include "base/text.h"
#include "health/worker/worker.h"
#include "host/host.h"
#include "jobs/parent_watch.h"
#include "machine/system/system.h"
#include "value/json.h"

namespace gpuready {
namespace {

constexpr std::uint64_t kDefaultHostBytes = 256 * MiB;
constexpr double kProgressEveryMs = 50;

std::atomic<bool> g_stop{false};
void on_stop_signal(int) { g_stop.store(true); }

void write_line(const Json& doc) { write_channel_line(dump_line(doc)); }

void write_progress(const TestProgress& progress) {
  write_line({{"progress",
               {{"phase", std::string(progress.phase)},
                {"done", progress.done},
                {"total", progress.total}}}});
}

Result<std::vector<DeviceChoice>> parse_devices(std::span<const std::string> args) {
  std::vector<DeviceChoice> devices;
  for (std::size_t i = 0; i + 1 < args.size() && args[i] == "--device"; i += 2) {
    devices.push_back(TRY(parse_device_choice(args[i + 1])));
  }
  if (devices.empty() || args.size() != 2 * devices.size())
    return fail(ErrorKind::bad_input, "a worker takes --device DEVICE, once or more");
  return devices;
}

struct Task {
  const HealthTest* test = nullptr;
  TestOptions options;
};

Result<Task> parse_task(std::string_view line, std::size_t devices) {
  const auto doc = TRY(parse_json(line, "task"));
  Task task;
  task.test = find_health_test(get_string(doc, "test").value_or(""));
  if (!task.test || task.test->devices != devices)
    return fail(ErrorKind::bad_input, "a task names a test for as many devices as there are");
  task.options = TRY(test_options_from_json(member(doc, "options")));
  return task;
}

// Host memory is bounded: by default 256 MiB, and never more than half of what is available.
Result<CpuDeviceOptions> bound_host_memory(TestOptions& options) {
  auto host = make_live_host();
  auto meminfo = host->read_file("/proc/meminfo");
  if (!meminfo) return std::unexpected(meminfo.error());
  const auto available = parse_meminfo(*meminfo, "MemAvailable"),
             total = parse_meminfo(*meminfo, "MemTotal");
  if (!available || !total) {
    return fail(ErrorKind::unsupported,
                "/proc/meminfo does not report how much memory is available");
  }
  options.max_bytes = std::min({options.max_bytes.value_or(kDefaultHostBytes), *available / 2,
                                options.max_host_bytes.value_or(UINT64_MAX)});
  // At the rates of host memory 8 GiB would take seconds.
  options.copy_traffic_bytes = std::min(options.copy_traffic_bytes, 4 * *options.max_bytes);
  CpuDeviceOptions device_options;
  device_options.memory_free_bytes = *available;
  device_options.memory_total_bytes = *total;
  return device_options;
}

// What kept a device from being opened: nothing was tested; a fault is still a fault.
Verdict not_opened(const HealthTest& test, const DeviceChoice& device, const Error& error) {
  const DeviceFault fault = fault_of_opening(device, error);
  Verdict verdict;
  verdict.test = test.name;
  verdict.executor = device.executor;
  const VerdictStatus status = status_of(fault);
  verdict.status = status == VerdictStatus::inconclusive ? VerdictStatus::not_tested : status;
  verdict.reason = reason_of(fault, error, "start");
  verdict.error_code = error_code_of(error);
  return verdict;
}

// The child's devices, opened by its first task. They are kept to the end of the process, whose
// memory the kernel takes back faster than the driver would.
class Devices {
 public:
  explicit Devices(std::vector<DeviceChoice> choices) : choices_(std::move(choices)) {}

  Verdict run(Task task, const TestHooks& hooks) {
    CpuDeviceOptions cpu;
    if (choices_.front().executor == "cpu") {
      auto bounded = bound_host_memory(task.options);
      if (!bounded) return not_opened(*task.test, choices_.front(), bounded.error());
      cpu = *bounded;
    }
    while (opened_.size() < choices_.size()) {
      const DeviceChoice& choice = choices_[opened_.size()];
      auto device = open_device(choice, cpu);
      if (!device) return not_opened(*task.test, choice, device.error());
      opened_.push_back(device->release());
    }
    Verdict verdict = task.test->run(opened_, task.options, hooks);
    for (const Device* device : opened_)
      if (device->info().software.value_or(false))
        verdict.reason = fmt::format("in software, by {}, which is not a GPU: {}",
                                     device->info().name, verdict.reason);
    return verdict;
  }
  // Whether another test can be run on them.
  bool usable() const {
    return opened_.size() == choices_.size() &&
           std::none_of(opened_.begin(), opened_.end(),
                        [](const Device* device) { return device->lost().has_value(); });
  }

 private:
  std::vector<DeviceChoice> choices_;
  std::vector<Device*> opened_;
};

Verdict with_caveat(Verdict verdict) {
  if (const auto caveat = executor_caveat(verdict.executor); !caveat.empty())
    verdict.reason =
        fmt::format("{}{}({})", verdict.reason, verdict.reason.empty() ? "" : " ", caveat);
  return verdict;
}

}  // namespace

int run_worker(std::span<const std::string> args) {
  auto choices = parse_devices(args);
  // Nothing but our parent calls this; without descriptor 3 there is no one to tell.
  if (!choices || ::fcntl(kChannelDescriptor, F_GETFD) < 0) return 2;
  end_with_parent();
  std::signal(SIGTERM, on_stop_signal);
  std::signal(SIGINT, on_stop_signal);

  TestHooks hooks;
  hooks.cancel = &g_stop;
  auto last = Clock::time_point{};
  std::string last_phase;
  hooks.progress = [&](const TestProgress& progress) {
    if (progress.phase == last_phase && elapsed_ms(last) < kProgressEveryMs) return;
    last = Clock::now();
    last_phase = progress.phase;
    write_progress(progress);
  };
  hooks.partial = [](const Verdict& verdict) {
    write_line({{"partial", to_json(with_caveat(verdict))}});
  };
  const std::size_t count = choices->size();
  static Devices& devices = *new Devices(std::move(*choices));
  while (const auto line = read_channel_line()) {
    auto task = parse_task(*line, count);
    if (!task) return 2;
    const Verdict verdict = with_caveat(devices.run(std::move(*task), hooks));
    const bool more = devices.usable();
    write_line({{"verdict", to_json(verdict)}, {"more", more}});
    if (!more) break;
  }
  return 0;
}

}  // namespace gpuready
