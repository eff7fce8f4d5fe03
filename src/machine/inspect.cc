#include "machine/inspect.h"

#include <algorithm>
#include <functional>

#include "base/clock.h"
#include "base/named.h"
#include "base/rocm_libraries.h"
#include "base/text.h"
#include "machine/sources.h"
#include "machine/system/named_libraries.h"

namespace gpuready {

NAMES_OF(HostKind, "live", "recorded", "scripted");

namespace {

class Timed {
 public:
  Timed(Machine& machine, bool live) : machine_(machine), live_(live) {}
  void operator()(const char* source, const std::function<void()>& step) {
    const auto start = Clock::now();
    step();
    if (live_) machine_.timings_ms[source] = elapsed_ms(start);
  }

 private:
  Machine& machine_;
  bool live_;
};

using Apply = void (*)(const ProbeDocument&, Machine&);
struct Probe {
  const char* name;
  const char* title;  // as Unseen calls it
  Apply apply;
  bool nvidia, amd;  // starting it wakes the GPUs of these vendors; both: of every vendor
  const char* variable = nullptr;  // names its library in place of the system's
};
constexpr Probe kNvml{"nvml", "NVML", apply_nvml, true, false, "GPUREADY_LIBNVML"};
constexpr Probe kCuda{"cuda", "CUDA driver", apply_cuda, true, false, "GPUREADY_LIBCUDA"};
constexpr Probe kVulkan{"vulkan", "Vulkan", apply_vulkan, true, true, "GPUREADY_VULKAN_LIBRARY"};
constexpr Probe kRocm{"rocm", "ROCm", apply_rocm, false, true, kHipLibraryVariable};
constexpr Probe kMetal{"metal", "Metal", apply_metal, false, false};

constexpr const char* kFullFlag = "--full";  // of the NVML probe

bool touches(const Probe& probe, const Gpu& gpu) {
  if (probe.nvidia && probe.amd) return true;
  return (probe.nvidia && gpu.vendor == Vendor::nvidia) || (probe.amd && gpu.vendor == Vendor::amd);
}

// The addresses of the suspended GPUs that the probe would wake.
std::vector<std::string> suspended(const Machine& machine, const Probe& probe) {
  std::vector<std::string> out;
  for (const auto& gpu : machine.gpus)
    if (gpu.suspended && gpu.pci && touches(probe, gpu)) out.push_back(gpu.pci->text());
  return out;
}

bool knows_nvlinks(const Machine& machine) {
  return std::any_of(machine.gpus.begin(), machine.gpus.end(),
                     [](const Gpu& gpu) { return !gpu.nvlinks.empty(); });
}

bool has_gpu_of(const Machine& machine, Vendor vendor) {
  return std::any_of(machine.gpus.begin(), machine.gpus.end(),
                     [&](const Gpu& gpu) { return gpu.vendor == vendor; });
}

// Of a probe whose library a variable names.
bool is_named(const Machine& machine, const Probe& probe) {
  return probe.variable && machine.named_libraries.contains(probe.variable);
}

// Without any sign of NVIDIA no child is started for it. A library is a sign: some sandboxes hide
// /sys and still hand in the driver.
bool nvidia_is_plausible(const Machine& machine) {
  return has_gpu_of(machine, Vendor::nvidia) || machine.nvidia.module_loaded ||
         !machine.nvidia.libraries.empty() || machine.system.wsl2 ||
         machine.system.jetson_release || is_named(machine, kNvml);
}

bool amd_is_plausible(const Machine& machine) {
  return has_gpu_of(machine, Vendor::amd) || machine.amd.kfd_present || machine.amd.module_loaded ||
         (machine.system.wsl2 && machine.amd.rocm_version);
}

std::vector<Probe> choose_probes(Host& host, const Machine& machine,
                                 const InspectOptions& options) {
  std::vector<Probe> probes;
  if (!options.libraries && !options.full) return probes;
  const bool nvidia = nvidia_is_plausible(machine);
  if (nvidia) probes.push_back(kNvml);
  if (runs_darwin(host)) probes.push_back(kMetal);
  if (!options.full) return probes;
  if (nvidia || is_named(machine, kCuda)) probes.push_back(kCuda);
  if (amd_is_plausible(machine) || is_named(machine, kRocm)) probes.push_back(kRocm);
  probes.push_back(kVulkan);
  return probes;
}

// A driver's start takes its time for each GPU.
std::chrono::milliseconds timeout_for(const Machine& machine, const InspectOptions& options) {
  constexpr std::size_t kMostCounted = 64;
  const auto gpus = static_cast<std::int64_t>(std::min(machine.gpus.size(), kMostCounted));
  return std::min<std::chrono::milliseconds>(
      options.probe_timeout + std::chrono::seconds(10) * gpus, options.most_probe_timeout);
}

// The request, or nothing when it would wake a suspended GPU. NVML alone can be asked by address.
std::optional<ProbeRequest> request_for(const Probe& probe, const Machine& machine,
                                        const InspectOptions& options) {
  ProbeRequest request{probe.name, {}, timeout_for(machine, options)};
  const bool by_address = std::string_view(probe.name) == kNvml.name;
  if (by_address && (options.full || options.counters)) request.args.emplace_back(kFullFlag);
  if (suspended(machine, probe).empty()) return request;
  bool any_awake = false;
  for (const auto& gpu : machine.gpus) {
    if (!by_address || gpu.vendor != Vendor::nvidia || gpu.suspended || !gpu.pci) continue;
    request.args.emplace_back("--only");
    request.args.push_back(gpu.pci->text());
    any_awake = true;
  }
  if (any_awake) return request;
  return std::nullopt;
}

// NVML's answer is what takes longest: it is started as soon as a GPU of NVIDIA is known, and which
// are asleep.
void expect_nvml(Host& host, const Machine& machine, const InspectOptions& options) {
  if (!has_gpu_of(machine, Vendor::nvidia)) return;
  if (const auto request = request_for(kNvml, machine, options)) host.expect_probe(*request);
}

void note_asleep(Machine& machine, const Probe& probe) {
  const auto asleep = suspended(machine, probe);
  if (asleep.empty()) return;
  note_unseen(
      machine, probe.title,
      {ErrorKind::busy,
       "not asked about " + join(asleep, ", ") + ": suspended, and asking would wake it", 0});
}

bool unknown(const ProbeDocument& document) {
  return document.outcome == ProbeOutcome::not_asked ||
         document.outcome == ProbeOutcome::no_library;
}

// A recording holds the one NVML document that its maker asked for, which may be fuller or scantier
// than what is asked of it now.
void find_other_document(Host& host, const ProbeRequest& request, ProbeDocument& document) {
  if (host.kind() == HostKind::live || request.probe != kNvml.name || !unknown(document)) return;
  ProbeRequest other = request;
  if (std::erase(other.args, kFullFlag) == 0) other.args.insert(other.args.begin(), kFullFlag);
  auto found = host.probe({other});  // large, so that it is not copied
  if (!unknown(found.at(0))) document = std::move(found.at(0));
}

void ask_probes(Host& host, Machine& machine, const InspectOptions& options, Timed& timed) {
  std::vector<Probe> asked;
  std::vector<ProbeRequest> requests;
  for (const auto& probe : choose_probes(host, machine, options)) {
    auto request = request_for(probe, machine, options);
    note_asleep(machine, probe);
    if (!request) continue;
    asked.push_back(probe);
    requests.push_back(std::move(*request));
  }
  if (requests.empty()) return;
  std::vector<ProbeDocument> documents;
  timed("probes", [&] { documents = host.probe(requests); });
  for (std::size_t i = 0; i < asked.size() && i < documents.size(); ++i) {
    find_other_document(host, requests[i], documents[i]);
    if (documents[i].outcome == ProbeOutcome::not_asked)
      note_unseen(machine, asked[i].title, {ErrorKind::not_recorded, "", 0});
    else
      asked[i].apply(documents[i], machine);
    if (is_named(machine, asked[i]) && documents[i].outcome == ProbeOutcome::no_library)
      note_unseen(machine, asked[i].variable, {ErrorKind::io, documents[i].library_error, 0});
  }
}

}  // namespace

Machine inspect(Host& host, const InspectOptions& options) {
  const bool deep = options.libraries || options.full;
  Machine machine;
  machine.source = name_of(host.kind());
  machine.full = options.full;
  Timed timed(machine, host.kind() == HostKind::live);
  if (options.fakes.empty()) {  // before all else, so that NVML's answer is made meanwhile
    timed("pci devices", [&] { find_pci(host, machine); });
    if (deep) expect_nvml(host, machine, options);
  }
  timed("system", [&] { read_system(host, machine); });
  timed("container", [&] { read_container(host, machine); });
  timed("visibility", [&] { read_visibility(host, machine); });
  if (!options.fakes.empty()) {  // what is claimed replaces what is there: nothing is asked
    apply_fakes(machine, options.fakes);
    finish_gpus(machine);
    return machine;
  }
  if (deep) machine.named_libraries = named_libraries(host, options.is_gpuready);
  timed("pci", [&] { read_pci(host, machine); });
  timed("nvidia files", [&] { read_nvidia_files(host, machine); });
  timed("jetson files", [&] { read_jetson_files(host, machine); });
  timed("amd files", [&] { read_amd_files(host, machine); });
  timed("intel files", [&] { read_intel_files(host, machine); });
  timed("apple", [&] { read_apple(host, machine); });
  if (deep) {
    timed("nvidia packaging", [&] { read_nvidia_packaging(host, machine); });
    timed("module files", [&] { read_module_files(host, machine); });
    timed("toolkits", [&] { read_toolkits(host, machine); });
    timed("network", [&] { read_network(host, machine); });
    timed("slow system", [&] { read_slow_system(host, machine); });
  }
  if (options.full) timed("vulkan files", [&] { read_vulkan_files(host, machine); });
  ask_probes(host, machine, options, timed);
  // The first start of a driver's library makes missing nodes, and a start that fails is reported
  // in the kernel log: both are looked at afterwards.
  timed("device nodes", [&] { read_device_nodes(host, machine); });
  if (options.kernel_log || options.full)
    timed("kernel log", [&] { read_kernel_log(host, machine); });
  finish_gpus(machine);
  // NVLinks are asked with the counters; without them a path between NVIDIA GPUs is not known.
  if (options.full || options.counters || knows_nvlinks(machine) ||
      !has_gpu_of(machine, Vendor::nvidia))
    derive_topology(machine);
  return machine;
}

}  // namespace gpuready
