#include "health/plan/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "base/units.h"
#include "health/plan/choose_executor.h"
#include "machine/gpu_use.h"
#include "machine/system/container.h"

namespace gpuready {
namespace {

// Memory in use that no visible process explains (another container's, say) makes a GPU busy. What
// an idle driver holds for itself is far below this; the smallest CUDA context is above it.
constexpr std::uint64_t kUnexplainedBytes = 64 * MiB;
// Each MIG instance holds some 13 MiB for itself.
constexpr std::uint64_t kUnexplainedBytesPerInstance = 32 * MiB;
constexpr std::uint64_t kLeastLeftToOthers = 2 * GiB;
constexpr double kWslLaunchMs = 400;  // Windows resets a GPU whose launch takes seconds
// A GPU that drives a display is reset by its driver after a launch of seconds, and Vulkan does not
// tell whether it does.
constexpr double kVulkanLaunchMs = 500;
constexpr unsigned kVulkanBlocksPerUnit = 64;  // 16 write 4% slower (docs/vulkan.md)
constexpr std::uint64_t kHostMemoryBytes = 256 * MiB, kSoftwareBytes = 64 * MiB;
// Of the host's available memory, all tests that run at once take at most this part.
constexpr std::uint64_t kHostShare = 2;

// A driver that tells how much of the memory is in use was there to be asked, and did not tell:
// NVML is hidden in this container, say. Integrated GPUs have no memory of their own.
bool use_is_unknown(const Gpu& gpu) {
  const bool tells = gpu.vendor == Vendor::nvidia || gpu.vendor == Vendor::amd;
  return tells && !gpu.integrated && !gpu.memory.used_bytes && gpu.processes.empty();
}

std::optional<std::string> why_not_idle(const Gpu& gpu) {
  if (auto why = why_busy(gpu)) return why;
  if (!use_is_unknown(gpu)) return std::nullopt;
  return fmt::format(
      "whether it is busy is unknown: {} does not report who uses it; --busy tests what is free",
      gpu.vendor == Vendor::nvidia ? "NVML" : "the kernel driver");
}

// The memory that this machine, or the container's limit, leaves to one test while all GPUs are
// tested at once.
std::uint64_t host_share_bytes(const Machine& machine) {
  return available_memory_bytes(machine).value_or(GiB) / kHostShare /
         std::max<std::size_t>(1, machine.gpus.size());
}

// Why this GPU is not to be tested at all, if so.
std::optional<Refusal> refusal(const Machine& machine, const Gpu& gpu,
                               const SurveyOptions& options) {
  using enum VerdictStatus;
  if (gpu.faked) return Refusal{not_tested, "faked: it exists nowhere and cannot execute"};
  if (machine.source != "live")
    return Refusal{not_tested, "a " + machine.source + " machine: nothing can be run on it"};
  if (gpu.suspended && options.devices.empty())
    return Refusal{not_tested, "suspended: nothing wakes it that was not asked to; --device " +
                                   (gpu.pci ? gpu.pci->text() : std::to_string(gpu.index)) +
                                   " does"};
  // Whoever starts the CUDA driver starts all GPUs of the machine.
  if (gpu.vendor == Vendor::nvidia && options.devices.empty())
    for (const Gpu& other : machine.gpus)
      if (other.vendor == Vendor::nvidia && other.suspended)
        return Refusal{
            not_tested,
            fmt::format("its test would wake GPU {}, which is suspended; --device {} "
                        "tests it all the same",
                        other.index, gpu.pci ? gpu.pci->text() : std::to_string(gpu.index))};
  if (gpu.excluded.value_or(false))
    return Refusal{not_tested, "excluded by the driver's configuration (NVreg_ExcludedGpus)"};
  if (gpu.compute_mode == "prohibited")
    return Refusal{not_tested, "its compute mode is prohibited"};
  if (gpu.mig_enabled.value_or(false) && gpu.mig.empty())
    return Refusal{not_tested, "MIG is on and has no instances to run on"};
  if (!options.busy)
    if (const auto why = why_not_idle(gpu)) return Refusal{not_tested, *why};
  return std::nullopt;
}

// How far a test of this GPU may go.
TestOptions limited(const Machine& machine, const Gpu& gpu, const DeviceChoice& device,
                    const SurveyOptions& options) {
  TestOptions test = options.test;
  test.max_host_bytes = host_share_bytes(machine);
  test.real_link = !link_is_virtual(machine, gpu);
  if (const auto mhz = gpu.clocks.max_sm_mhz; mhz && *mhz > 0) test.max_clock_mhz = *mhz;
  test.link_generation = gpu.link_max.generation;
  test.link_width = gpu.link_max.width;
  if (gpu.confidential_compute.value_or(false))
    test.link_excuse = "confidential computing encrypts what crosses the link";
  else if (gpu.virtualization == "vgpu")
    test.link_excuse = "a virtual GPU shares its link with others";
  const auto limit = [&](std::uint64_t bytes) {
    test.max_bytes = std::min(bytes, test.max_bytes.value_or(bytes));
  };
  if (gpu.integrated) limit(machine.system.memory_available_bytes.value_or(GiB) / 4);
  if (machine.system.wsl2) {
    test.max_launch_ms = kWslLaunchMs;
    if (const auto free = gpu.memory.free_bytes) limit(*free / 10 * 9);
  }
  if (device.executor == "vulkan") {
    test.max_launch_ms = std::min(test.max_launch_ms, kVulkanLaunchMs);
    test.blocks_per_unit = std::max(test.blocks_per_unit, kVulkanBlocksPerUnit);
  }
  if (options.half_of_free)
    limit(gpu.memory.free_bytes.value_or(GiB) / 2);
  else if (options.busy && why_not_idle(gpu))
    test.reserve_free_bytes = std::max(kLeastLeftToOthers, gpu.memory.total_bytes.value_or(0) / 10);
  return test;
}

std::vector<Target> targets_of(const Machine& machine, const Gpu& gpu, const DeviceChoice& device,
                               const SurveyOptions& options) {
  Target whole{fmt::format("GPU {}", gpu.index), &gpu, device,
               gpu.pci ? std::optional(gpu.pci->text()) : std::nullopt,
               limited(machine, gpu, device, options)};
  if (!gpu.mig_enabled.value_or(false)) return {whole};
  std::vector<Target> instances;
  for (const auto& instance : gpu.mig) {
    if (!instance.uuid) continue;
    Target target = whole;
    target.device.id = *instance.uuid;
    target.subject = fmt::format("GPU {} MIG {}", gpu.index, instance.name.value_or("instance"));
    instances.push_back(std::move(target));
  }
  return instances;
}

Target host_target(const Machine& machine, const SurveyOptions& options) {
  Target target{"the host", nullptr, {"cpu"}, std::nullopt, options.test};
  target.options.max_host_bytes = host_share_bytes(machine);
  target.options.max_bytes = options.test.max_bytes.value_or(kHostMemoryBytes);
  target.options.copy_traffic_bytes = 2 * *target.options.max_bytes;
  return target;
}

// Vulkan's software devices are not GPUs, and are tested only where no GPU is and Vulkan is asked
// for.
std::vector<Target> software_targets(const Machine& machine, const SurveyOptions& options) {
  std::vector<Target> targets;
  for (const VulkanDevice& device : machine.vulkan.devices) {
    if (!device.software() || !device.uuid) continue;
    const std::string name = device.name.substr(0, device.name.find(" ("));
    Target target{
        name + " (software)", nullptr, {"vulkan", *device.uuid}, std::nullopt, options.test};
    target.options.max_bytes =
        std::min({options.test.max_bytes.value_or(kSoftwareBytes), kSoftwareBytes,
                  machine.system.memory_available_bytes.value_or(GiB) / 4});
    target.options.copy_traffic_bytes = *target.options.max_bytes;
    targets.push_back(std::move(target));
  }
  return targets;
}

bool is_live(const Machine& machine) { return machine.source == "live" && machine.fakes.empty(); }

bool has_hardware(const Machine& machine) {
  return std::any_of(machine.gpus.begin(), machine.gpus.end(),
                     [](const Gpu& gpu) { return !gpu.faked; });
}

bool host_is_tested(const Machine& machine, const SurveyOptions& options) {
  const bool named =
      std::find(options.devices.begin(), options.devices.end(), "cpu") != options.devices.end();
  return is_live(machine) && (named || (!has_hardware(machine) && options.devices.empty()));
}

}  // namespace

std::optional<std::string> why_busy(const Gpu& gpu) {
  if (!gpu.processes.empty()) {
    const auto& process = gpu.processes.front();
    return fmt::format("busy: {} {} use{} it (first: pid {}{}); --busy tests what they leave free",
                       gpu.processes.size(), gpu.processes.size() == 1 ? "process" : "processes",
                       gpu.processes.size() == 1 ? "s" : "", process.pid,
                       process.name ? " " + *process.name : "");
  }
  if (gpu.memory.used_bytes.value_or(0) >
      kUnexplainedBytes + gpu.mig.size() * kUnexplainedBytesPerInstance)
    return fmt::format(
        "busy: {} of its memory is in use by processes that cannot be seen from here; "
        "--busy tests what they leave free",
        format_bytes(*gpu.memory.used_bytes));
  return std::nullopt;
}

std::optional<std::string> why_busy_now(const Machine& now, const TestJob& job) {
  for (const DeviceChoice& device : job.devices) {
    const Gpu* gpu = now.find_gpu_by_uuid(device.id);
    if (const auto why = gpu ? why_busy(*gpu) : std::nullopt)
      return fmt::format("GPU {} was idle before and is now {}", gpu->index, *why);
  }
  return std::nullopt;
}

bool names_this_gpu(const std::vector<std::string>& devices, const Gpu& gpu) {
  return std::any_of(devices.begin(), devices.end(), [&](const std::string& name) {
    if (parse_int(name) == gpu.index) return true;
    if (gpu.pci && parse_pci_address(name) == gpu.pci) return true;
    return name.size() >= 5 && gpu.uuid && gpu.uuid->starts_with(name);
  });
}

bool names_gpu(const std::vector<std::string>& devices, const Gpu& gpu) {
  if (std::all_of(devices.begin(), devices.end(),
                  [](const std::string& name) { return is_executor_name(name) && name != "cpu"; }))
    return !devices.empty();
  return names_this_gpu(devices, gpu);
}

Survey survey_devices(const Machine& machine, const SurveyOptions& options) {
  Survey survey;
  for (const Gpu& gpu : machine.gpus) {
    if (!options.devices.empty() && !names_gpu(options.devices, gpu)) continue;
    if (std::ranges::find(options.leave_out, gpu.index) != options.leave_out.end()) continue;
    const GpuAccess access = access_to(machine, gpu);
    const bool apart = access.use == GpuUse::not_ours || access.use == GpuUse::display_only;
    if ((apart || access.use == GpuUse::hidden) && !names_this_gpu(options.devices, gpu)) continue;
    const std::string subject = fmt::format("GPU {}", gpu.index);
    if (apart) {
      survey.refused.push_back({subject, &gpu, {VerdictStatus::not_tested, access.reason}});
      continue;
    }
    if (auto why = refusal(machine, gpu, options)) {
      survey.refused.push_back({subject, &gpu, std::move(*why)});
      continue;
    }
    const auto device = choose_executor(machine, gpu, forced_executor(options.devices));
    if (!device) {
      const bool never = device.error().kind == ErrorKind::unsupported;
      survey.refused.push_back({subject,
                                &gpu,
                                {never ? VerdictStatus::not_supported : VerdictStatus::not_tested,
                                 device.error().message}});
      continue;
    }
    for (Target& target : targets_of(machine, gpu, *device, options))
      survey.targets.push_back(std::move(target));
  }
  if (host_is_tested(machine, options)) survey.targets.push_back(host_target(machine, options));
  if (is_live(machine) && !has_hardware(machine) && forced_executor(options.devices) == "vulkan") {
    auto software = software_targets(machine, options);
    if (software.empty())
      survey.refused.push_back(
          {"Vulkan",
           nullptr,
           {VerdictStatus::not_tested, "Vulkan shows no device here, not even a software one"}});
    std::move(software.begin(), software.end(), std::back_inserter(survey.targets));
  }
  return survey;
}

Verdict not_run(const HealthTest& test, std::string subject, const Gpu* gpu, Refusal why) {
  Verdict verdict;
  verdict.test = test.name;
  verdict.subject = std::move(subject);
  if (gpu) verdict.uuid = gpu->uuid;
  if (gpu && gpu->pci) verdict.pci_address = gpu->pci->text();
  verdict.status = why.status;
  verdict.reason = std::move(why.reason);
  return verdict;
}

}  // namespace gpuready
