// NVML's document, applied. GPUs are joined by PCI address, else by UUID, never by index.
#include <algorithm>
#include <set>
#include <tuple>

#include "base/text.h"
#include "machine/nvidia/nvml_errors.h"
#include "machine/nvidia/nvml_gpu.h"
#include "machine/probe_answers.h"
#include "machine/sources.h"

namespace gpuready {
namespace {

constexpr std::size_t kMaxDevices = 1024;

// nvmlGpuP2PStatus_t
constexpr const char* kP2pStatus[] = {"ok",
                                      "chipset_not_supported",
                                      "gpu_not_supported",
                                      "ioh_topology_not_supported",
                                      "disabled_by_regkey",
                                      "not_supported",
                                      "unknown"};

ApiStatus status_of(std::string_view call, int code) {
  return {std::string(call), code, nvml_error_name(code)};
}

// ---- the system
void apply_system(const ProbeDocument& document, NvidiaDriver& nvidia) {
  nvidia.nvml_outcome = to_string(document.outcome);
  if (!document.stopped_in.empty()) nvidia.nvml_stopped_in = printable(document.stopped_in);
  if (!document.library_real_path.empty())
    nvidia.nvml_library = printable(document.library_real_path);
  else if (!document.library_path.empty())
    nvidia.nvml_library = printable(document.library_path);
  for (const char* call : {"nvmlInit()", "nvmlInit_v2()"})
    if (const auto* init = document.find(call); init != nullptr && !init->missing)
      nvidia.nvml_start = status_of(call, init->code);
  take(nvidia.driver_version, as_text(document.value("nvmlSystemGetDriverVersion()")));
  for (const char* call :
       {"nvmlSystemGetCudaDriverVersion()", "nvmlSystemGetCudaDriverVersion_v2()"})
    if (const auto version = as_int(document.value(call)); version && *version >= 1000)
      nvidia.cuda_version =
          std::to_string(*version / 1000) + "." + std::to_string(*version % 1000 / 10);
  for (const char* call : {"nvmlDeviceGetCount()", "nvmlDeviceGetCount_v2()"})
    take(nvidia.nvml_device_count, as_int(document.value(call)));
}

void apply_confidential_computing(const ProbeDocument& document, Machine& machine) {
  const auto on = as_flag(member(document.value("nvmlSystemGetConfComputeState()"), "feature"));
  if (!on) return;
  const auto ready = as_flag(document.value("nvmlSystemGetConfComputeGpusReadyState()"));
  for (auto& gpu : machine.gpus) {
    if (gpu.vendor != Vendor::nvidia) continue;
    gpu.confidential_compute = on;
    if (*on) take(gpu.confidential_compute_ready, ready);
  }
}

void apply_excluded(const ProbeDocument& document, Machine& machine) {
  for (std::size_t i = 0; i < kMaxDevices; ++i) {
    const auto* call = document.find("nvmlGetExcludedDeviceInfoByIndex(" + std::to_string(i) + ")");
    if (call == nullptr) return;
    if (!call->ok()) continue;
    const auto address = parse_pci_address(as_text(member(call->value, "bus_id")).value_or(""));
    if (!address) continue;
    auto& gpu = gpu_at(machine, *address, Vendor::nvidia);
    gpu.excluded = true;
    take_if_absent(gpu.uuid, as_text(member(call->value, "uuid")));
    add_source(gpu, "nvml");
  }
}

// ---- devices
bool is_index(std::string_view id) {
  return !id.empty() && std::ranges::all_of(id, [](char c) { return c >= '0' && c <= '9'; });
}

// Every device that a call is about, in the order of NVML's indices, then by address.
std::vector<std::string> device_ids(const ProbeDocument& document) {
  std::set<std::string_view> seen;
  for (const auto& [key, call] : document.calls) {
    const auto name = parse_call(key);
    if (!name || name->arguments.empty() || !name->symbol.starts_with("nvmlDevice")) continue;
    const auto id = name->arguments.front();
    if (is_index(id) ? parse_uint(id).value_or(kMaxDevices) < kMaxDevices
                     : parse_pci_address(id).has_value())
      seen.insert(id);
  }
  std::vector<std::string> ids(seen.begin(), seen.end());
  // Numbers of one length compare as text does; "01" and "1" stay apart by the text itself.
  std::ranges::sort(ids, {}, [](const std::string& id) {
    return std::tuple(!is_index(id), is_index(id) ? id.size() : 0, id);
  });
  return ids;
}

// The call that gave the handle; nullptr when the document does not tell.
struct HandleCall {
  std::string key;
  const ProbeCall* call = nullptr;
};
HandleCall handle_call(const DeviceAnswers& answers) {
  for (const char* symbol : {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex",
                             "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetHandleByPciBusId"})
    if (const auto* call = answers.find(symbol); call != nullptr && !call->missing)
      return {answers.key(symbol), call};
  return {};
}

std::optional<PciAddress> address_of(const DeviceAnswers& answers) {
  if (!is_index(answers.id())) return parse_pci_address(answers.id());
  const Json& info = answers.first_value(
      {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"});
  const auto bus_id = as_text(member(info, "bus_id"));
  return bus_id ? parse_pci_address(*bus_id) : std::nullopt;
}

Gpu& add_without_address(Machine& machine) {
  auto& gpu = machine.gpus.emplace_back();
  gpu.vendor = Vendor::nvidia;
  return gpu;
}

Gpu& join(const DeviceAnswers& answers, Machine& machine) {
  const auto address = address_of(answers);
  if (auto* tegra = gpu_of_tegra(machine, address)) return *tegra;
  if (address) return gpu_at(machine, *address, Vendor::nvidia);
  if (const auto uuid = as_text(answers.value("nvmlDeviceGetUUID")))
    if (auto* known = gpu_with_uuid(machine, *uuid)) return *known;
  return add_without_address(machine);
}

void add_error(Gpu& gpu, ApiStatus status) {
  // A lost GPU answers every question alike: the first tells it.
  for (const auto& known : gpu.errors)
    if (known.code == status.code && known.call.starts_with("nvml")) return;
  gpu.errors.push_back(std::move(status));
}

void collect_errors(const DeviceAnswers& answers, Gpu& gpu) {
  for (const auto& [key, call] : answers.document().calls) {
    if (call.missing || call.code == 0 || !nvml_code_concerns_gpu(call.code)) continue;
    const auto name = parse_call(key);
    if (name && name->symbol.starts_with("nvmlDevice") && !name->arguments.empty() &&
        name->arguments.front() == answers.id())
      add_error(gpu, status_of(printable(key), call.code));
  }
}

void apply_device(const DeviceAnswers& answers, Machine& machine) {
  auto& gpu = join(answers, machine);
  add_source(gpu, "nvml");
  if (is_index(answers.id()))
    gpu.nvml_index = static_cast<int>(*parse_uint(answers.id()));
  else
    take(gpu.nvml_index, as_int(answers.value("nvmlDeviceGetIndex")));
  apply_nvml_device(answers, gpu);
  apply_nvml_mig(answers, gpu);
  apply_nvml_links(answers, gpu);
  apply_nvml_processes(answers, gpu);
  collect_errors(answers, gpu);
}

// GPUs that NVML counts and would not give, told by index alone. The driver counts in the order of
// addresses, so when as many known GPUs are left over as were refused, they are these, in order.
void assign_refused(const std::vector<ApiStatus>& refused, Machine& machine) {
  std::vector<Gpu*> left;
  for (auto& gpu : machine.gpus)
    if (gpu.vendor == Vendor::nvidia && !gpu.nvml_index && !gpu.suspended && gpu.excluded != true &&
        gpu.driver.value_or("nvidia") == "nvidia")
      left.push_back(&gpu);
  std::ranges::sort(left, [](const Gpu* a, const Gpu* b) {
    return a->pci != b->pci ? a->pci < b->pci : a < b;  // else in the order of the list
  });
  if (left.size() == refused.size()) {
    for (std::size_t i = 0; i < left.size(); ++i) add_error(*left[i], refused[i]);
  } else if (left.empty()) {  // the bus is hidden from us: these GPUs are known by the refusal
                              // alone
    for (const auto& status : refused) add_error(add_without_address(machine), status);
  } else {
    for (const auto& status : refused)
      note_unseen(
          machine, "which GPU " + status.call + " is about",
          {ErrorKind::device, status.name + ": " + nvml_error_text(status.code), status.code});
  }
}

void apply_devices(const ProbeDocument& document, Machine& machine) {
  std::vector<ApiStatus> refused_by_index;
  bool refused_by_address = false;
  for (const auto& id : device_ids(document)) {
    const DeviceAnswers answers(document, id);
    const auto handle = handle_call(answers);
    if (handle.call == nullptr || handle.call->code == 0) {
      apply_device(answers, machine);
      continue;
    }
    auto status = status_of(printable(handle.key), handle.call->code);
    const auto address = address_of(answers);
    if (!address) {
      if (nvml_code_concerns_gpu(status.code)) refused_by_index.push_back(std::move(status));
      continue;
    }
    refused_by_address = true;
    if (nvml_code_concerns_gpu(status.code))
      add_error(gpu_at(machine, *address, Vendor::nvidia), std::move(status));
  }
  // The probe asks for the refused ones by address where it can; then the indices add nothing.
  if (!refused_by_address && !refused_by_index.empty()) assign_refused(refused_by_index, machine);
}

// ---- pairs
PathKind ancestor_kind(int level) {  // nvmlGpuTopologyLevel_t
  switch (level) {
    case 0:
    case 10:
      return PathKind::same_switch;
    case 20:
      return PathKind::multiple_switches;
    case 30:
      return PathKind::host_bridge;
    case 40:
      return PathKind::numa_node;
    case 50:
      return PathKind::system;
    default:
      return PathKind::unknown;
  }
}

GpuPath& path_between(Machine& machine, int a, int b) {
  if (a > b) std::swap(a, b);
  for (auto& path : machine.paths)
    if (path.gpu_a == a && path.gpu_b == b) return path;
  auto& path = machine.paths.emplace_back();
  path.gpu_a = a;
  path.gpu_b = b;
  return path;
}

const Gpu* gpu_with_nvml_index(const Machine& machine, std::string_view id) {
  const auto index = parse_uint(id);
  if (!index) return nullptr;
  for (const auto& gpu : machine.gpus)
    if (gpu.nvml_index && static_cast<std::uint64_t>(*gpu.nvml_index) == *index) return &gpu;
  return nullptr;
}

void apply_pairs(const ProbeDocument& document, Machine& machine) {
  for (const auto& [key, call] : document.calls) {
    if (!call.ok()) continue;
    const bool ancestor = key.starts_with("nvmlDeviceGetTopologyCommonAncestor(");
    const bool p2p = key.starts_with("nvmlDeviceGetP2PStatus(");
    if (!ancestor && !p2p) continue;
    const auto name = parse_call(key);
    if (!name || name->arguments.size() < 2) continue;
    const auto* a = gpu_with_nvml_index(machine, name->arguments[0]);
    const auto* b = gpu_with_nvml_index(machine, name->arguments[1]);
    const auto value = as_int(call.value);
    if (a == nullptr || b == nullptr || a == b || !value) continue;
    auto& path = path_between(machine, a->index, b->index);
    if (ancestor) path.kind = ancestor_kind(*value);
    if (p2p && *value >= 0 && *value < static_cast<int>(std::size(kP2pStatus)))
      path.p2p_status = kP2pStatus[*value];
  }
}

// The kind of a link's other end, where NVML was not asked for it: known GPUs and NVSwitches.
void name_link_ends(Machine& machine) {
  constexpr std::uint32_t kOtherBridge = 0x068000;  // the PCI class of an NVSwitch
  for (auto& gpu : machine.gpus)
    for (auto& link : gpu.nvlinks) {
      if (!link.remote || link.remote_kind) continue;
      if (const auto* other = machine.find_gpu(*link.remote); other != nullptr && other != &gpu)
        link.remote_kind = "gpu";
      for (const auto& device : machine.pci)
        if (device.address == *link.remote && device.class_code == kOtherBridge)
          link.remote_kind = "switch";
    }
}

}  // namespace

void apply_nvml(const ProbeDocument& document, Machine& machine) {
  apply_system(document, machine.nvidia);
  apply_devices(document, machine);
  apply_excluded(document, machine);
  apply_confidential_computing(document, machine);
  name_link_ends(machine);
  finish_gpus(machine);  // pairs are reported by the indices that this gives
  apply_pairs(document, machine);
}

}  // namespace gpuready
