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
#include "device/cpu_device.h"
#include "device/cuda_device.h"
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

void write_progress(const MemoryProgress& progress) {
  write_line({{"progress",
               {{"phase", std::string(progress.phase)},
                {"done_bytes", progress.done_bytes},
                {"total_bytes", progress.total_bytes}}}});
}

struct Arguments {
  std::string uuid;
  bool cpu = false;
  MemoryTestOptions options;
  std::optional<MatmulBenchmarkOptions> benchmark;  // set: this test, not memory
};

Result<void> parse_options(const std::string& text, Arguments& parsed) {
  const auto doc = parse_json(text, "--options-json");
  if (!doc) return std::unexpected(doc.error());
  if (parsed.benchmark) {
    auto options = matmul_benchmark_options_from_json(*doc);
    if (!options) return std::unexpected(options.error());
    parsed.benchmark = *options;
  } else {
    auto options = memory_test_options_from_json(*doc);
    if (!options) return std::unexpected(options.error());
    parsed.options = *options;
  }
  return {};
}

Result<Arguments> parse_arguments(std::span<const std::string> args) {
  Arguments parsed;
  if (!args.empty() && args[0] == "benchmark")
    parsed.benchmark.emplace();
  else if (args.empty() || args[0] != "memory")
    return fail(ErrorKind::bad_input, "a worker's tests are \"memory\" and \"benchmark\"");
  for (std::size_t i = 1; i < args.size(); ++i) {
    const bool has_value = i + 1 < args.size();
    if (args[i] == "--cpu") {
      parsed.cpu = true;
    } else if (args[i] == "--uuid" && has_value) {
      parsed.uuid = args[++i];
    } else if (args[i] == "--options-json" && has_value) {
      if (auto done = parse_options(args[++i], parsed); !done) return std::unexpected(done.error());
    } else {
      return fail(ErrorKind::bad_input, fmt::format("unexpected argument {}", printable(args[i])));
    }
  }
  if (parsed.cpu == !parsed.uuid.empty()) {
    return fail(ErrorKind::bad_input, "a worker needs one of --uuid UUID and --cpu");
  }
  return parsed;
}

// Host memory is bounded: by default 256 MiB, and never more than half of what is available.
Result<std::unique_ptr<Device>> open_host_memory(MemoryTestOptions& options) {
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
  return make_cpu_device(device_options);
}

Verdict not_opened(const Arguments& arguments, const Error& error) {
  const DeviceFault fault = cuda_fault_of(error);
  Verdict verdict;
  verdict.test = arguments.benchmark ? "benchmark" : "memory";
  verdict.executor = arguments.cpu ? "cpu" : "cuda";
  // Whatever kept the device from being opened, nothing was tested; a fault is still a fault.
  const VerdictStatus status = status_of(fault);
  verdict.status = status == VerdictStatus::inconclusive ? VerdictStatus::not_tested : status;
  verdict.reason = reason_of(fault, error, "start");
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
  write_progress({"driver start", 0, 0});

  auto opened =
      arguments->cpu ? open_host_memory(arguments->options) : open_cuda_device(arguments->uuid);
  if (!opened) {
    write_line({{"verdict", to_json(not_opened(*arguments, opened.error()))}});
    return 0;
  }
  // Kept to the end of the process, whose memory the kernel takes back faster than the driver
  // would.
  static Device* device = nullptr;
  device = opened->release();

  MemoryTestHooks hooks;
  hooks.cancel = &g_stop;
  auto last = Clock::time_point{};
  std::string last_phase;
  hooks.progress = [&](const MemoryProgress& progress) {
    if (progress.phase == last_phase && elapsed_ms(last) < kProgressEveryMs) return;
    last = Clock::now();
    last_phase = progress.phase;
    write_progress(progress);
  };
  hooks.partial = [](const Verdict& verdict) { write_line({{"partial", to_json(verdict)}}); };
  write_line({{"verdict",
               to_json(arguments->benchmark ? benchmark_matmul(*device, *arguments->benchmark)
                                            : test_memory(*device, arguments->options, hooks))}});
  return 0;
}

}  // namespace gpuready
