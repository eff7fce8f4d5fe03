// The child side: opens one device, tests it, and tells on descriptor 3.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>

#include "base/clock.h"
#include "base/text.h"
#include "health/verdict_json.h"
#include "health/worker.h"
#include "host/host.h"
#include "machine/system.h"

namespace gpuready {
namespace {

constexpr int kDocument = 3;
constexpr std::uint64_t kDefaultHostBytes = 256 * MiB;
constexpr double kProgressEveryMs = 50;

std::atomic<bool> g_stop{false};
void on_stop_signal(int) { g_stop.store(true); }

void write_line(const Json& doc) {
  const std::string text = dump_line(doc) + "\n";
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(kDocument, text.data() + written, text.size() - written);
    if (count < 0 && errno != EINTR) return;  // nobody listens any more
    if (count > 0) written += static_cast<std::size_t>(count);
  }
}

void write_progress(const TestProgress& progress) {
  write_line({{"progress",
               {{"phase", std::string(progress.phase)},
                {"done", progress.done},
                {"total", progress.total}}}});
}

struct Arguments {
  const HealthTest* test = nullptr;
  std::vector<DeviceChoice> devices;
  TestOptions options;
};

Result<Arguments> parse_arguments(std::span<const std::string> args) {
  Arguments parsed;
  if (!args.empty()) parsed.test = find_health_test(args[0]);
  if (!parsed.test) return fail(ErrorKind::bad_input, "a worker's first argument names a test");
  for (std::size_t i = 1; i + 1 < args.size(); i += 2) {
    if (args[i] == "--device") {
      auto device = parse_device_choice(args[i + 1]);
      if (!device) return std::unexpected(device.error());
      parsed.devices.push_back(std::move(*device));
    } else if (args[i] == "--options-json") {
      const auto doc = parse_json(args[i + 1], "--options-json");
      if (!doc) return std::unexpected(doc.error());
      auto options = test_options_from_json(*doc);
      if (!options) return std::unexpected(options.error());
      parsed.options = std::move(*options);
    } else {
      return fail(ErrorKind::bad_input, fmt::format("unexpected argument {}", printable(args[i])));
    }
  }
  if (args.size() % 2 == 0 || parsed.devices.size() != parsed.test->devices)
    return fail(ErrorKind::bad_input,
                fmt::format("{} takes {} --device", parsed.test->name, parsed.test->devices));
  return parsed;
}

// Host memory is bounded: by default 256 MiB, and never more than half of what is available.
Result<CpuDeviceOptions> bound_host_memory(TestOptions& options) {
  auto host = make_live_host();
  auto meminfo = host->read_file("/proc/meminfo");
  if (!meminfo) return std::unexpected(meminfo.error());
  const auto available = parse_meminfo(*meminfo, "MemAvailable"),
             total = parse_meminfo(*meminfo, "MemTotal");
  if (!available || !total) {
    return fail(ErrorKind::unsupported, "/proc/meminfo does not tell how much memory is available");
  }
  options.max_bytes = std::min(options.max_bytes.value_or(kDefaultHostBytes), *available / 2);
  // At the rates of host memory 8 GiB would take seconds.
  options.copy_traffic_bytes = std::min(options.copy_traffic_bytes, 4 * *options.max_bytes);
  CpuDeviceOptions device_options;
  device_options.memory_free_bytes = *available;
  device_options.memory_total_bytes = *total;
  return device_options;
}

// What kept a device from being opened: nothing was tested; a fault is still a fault.
Verdict not_opened(const Arguments& arguments, const DeviceChoice& device, const Error& error) {
  const DeviceFault fault = fault_of_opening(device, error);
  Verdict verdict;
  verdict.test = arguments.test->name;
  verdict.executor = device.executor;
  const VerdictStatus status = status_of(fault);
  verdict.status = status == VerdictStatus::inconclusive ? VerdictStatus::not_tested : status;
  verdict.reason = reason_of(fault, error, "start");
  return verdict;
}

Verdict run_test(Arguments& arguments, const TestHooks& hooks) {
  CpuDeviceOptions cpu;
  if (arguments.devices.front().executor == "cpu") {
    auto bounded = bound_host_memory(arguments.options);
    if (!bounded) return not_opened(arguments, arguments.devices.front(), bounded.error());
    cpu = *bounded;
  }
  std::vector<Device*> devices;
  for (const DeviceChoice& choice : arguments.devices) {
    auto opened = open_device(choice, cpu);
    if (!opened) return not_opened(arguments, choice, opened.error());
    // Kept to the end of the process, whose memory the kernel takes back faster than the driver
    // would.
    devices.push_back(opened->release());
  }
  Verdict verdict = arguments.test->run(devices, arguments.options, hooks);
  for (const Device* device : devices)
    if (device->info().software.value_or(false))
      verdict.reason = fmt::format("in software, by {}, which is no GPU: {}", device->info().name,
                                   verdict.reason);
  return verdict;
}

Verdict with_caveat(Verdict verdict) {
  if (const auto caveat = executor_caveat(verdict.executor); !caveat.empty())
    verdict.reason =
        fmt::format("{}{}({})", verdict.reason, verdict.reason.empty() ? "" : " ", caveat);
  return verdict;
}

}  // namespace

int run_worker(std::span<const std::string> args) {
  auto arguments = parse_arguments(args);
  // Nothing but our parent calls this; without descriptor 3 there is nobody to tell.
  if (!arguments || ::fcntl(kDocument, F_GETFD) < 0) return 2;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  std::signal(SIGTERM, on_stop_signal);
  std::signal(SIGINT, on_stop_signal);
  write_progress({"driver start"});

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
  write_line({{"verdict", to_json(with_caveat(run_test(*arguments, hooks)))}});
  return 0;
}

}  // namespace gpuready
