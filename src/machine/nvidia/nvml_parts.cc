// Parts of a GPU that NVML lists: MIG instances, NVLinks, processes.
#include "base/text.h"
#include "machine/nvidia/nvml_gpu.h"

namespace gpuready {
namespace {

constexpr int kMaxLinks = 64, kMaxInstances = 64;

// "NVIDIA A100-SXM4-40GB MIG 1g.5gb" -> "1g.5gb"
std::string profile_of(const std::string& name) {
  constexpr std::string_view kMark = " MIG ";
  const auto at = name.rfind(kMark);
  return at == std::string::npos ? name : name.substr(at + kMark.size());
}

// nvmlIntNvLinkDeviceType_t
std::string link_kind(int type) {
  switch (type) {
    case 0:
      return "gpu";
    case 2:
      return "switch";
    default:
      return "unknown";
  }
}

}  // namespace

void apply_nvml_mig(const DeviceAnswers& answers, Gpu& gpu) {
  std::vector<MigInstance> found;
  for (int i = 0; i < kMaxInstances; ++i) {
    const auto number = std::to_string(i);
    const auto* handle = answers.find("nvmlDeviceGetMigDeviceHandleByIndex", number);
    if (handle == nullptr || !handle->ok()) continue;
    const DeviceAnswers instance(answers.document(), answers.id() + "/mig" + number);
    MigInstance mig;
    mig.uuid = as_text(instance.value("nvmlDeviceGetUUID"));
    if (const auto name = as_text(instance.value("nvmlDeviceGetName")))
      mig.name = profile_of(*name);
    mig.gpu_instance_id = as_int(instance.value("nvmlDeviceGetGpuInstanceId"));
    mig.compute_instance_id = as_int(instance.value("nvmlDeviceGetComputeInstanceId"));
    const Json& memory =
        instance.first_value({"nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMemoryInfo"});
    mig.memory_total_bytes = get_uint(memory, "total");
    mig.memory_free_bytes = get_uint(memory, "free");
    mig.multiprocessors =
        as_int(member(instance.value("nvmlDeviceGetAttributes_v2"), "multiprocessors"));
    found.push_back(std::move(mig));
  }
  if (!found.empty()) gpu.mig = std::move(found);
}

void apply_nvml_links(const DeviceAnswers& answers, Gpu& gpu) {
  std::vector<NvLink> found;
  for (int i = 0; i < kMaxLinks; ++i) {
    const auto number = std::to_string(i);
    const auto up = as_flag(answers.value("nvmlDeviceGetNvLinkState", number));
    if (!up) continue;
    NvLink link;
    link.link = i;
    link.up = up;
    link.version = as_int(answers.value("nvmlDeviceGetNvLinkVersion", number));
    const Json& remote = answers.value("nvmlDeviceGetNvLinkRemotePciInfo_v2", number);
    if (const auto bus_id = as_text(member(remote, "bus_id"))) {
      const auto address = parse_pci_address(*bus_id);
      constexpr std::uint32_t kNoDomain = 0xFFFFFFFF;  // told when the other end is not known
      if (address && address->domain != kNoDomain) link.remote = address;
    }
    if (const auto type = as_int(answers.value("nvmlDeviceGetNvLinkRemoteDeviceType", number)))
      link.remote_kind = link_kind(*type);
    const auto errors = [&](const char* counter) {
      return as_u64(answers.value("nvmlDeviceGetNvLinkErrorCounter", number + "," + counter));
    };
    link.replay_errors = errors("replay");
    link.recovery_errors = errors("recovery");
    link.crc_errors = errors("crc_flit");
    found.push_back(std::move(link));
  }
  if (!found.empty()) gpu.nvlinks = std::move(found);
}

void apply_nvml_processes(const DeviceAnswers& answers, Gpu& gpu) {
  struct Kind {
    const char* name;
    const char* symbol;
  };
  constexpr Kind kKinds[] = {{"compute", "nvmlDeviceGetComputeRunningProcesses"},
                             {"graphics", "nvmlDeviceGetGraphicsRunningProcesses"}};
  for (const auto& kind : kKinds) {
    const std::string symbol = kind.symbol;
    const std::string v3 = symbol + "_v3", v2 = symbol + "_v2";
    for (const auto& entry : answers.first_value({v3, v2, symbol})) {
      const auto pid = as_u32(member(entry, "pid"));
      if (!pid) continue;
      GpuProcess process;
      process.pid = *pid;
      process.kind = kind.name;
      process.used_bytes = get_uint(entry, "used_bytes");
      process.name = as_text(
          answers.document().value("nvmlSystemGetProcessName(" + std::to_string(*pid) + ")"));
      gpu.processes.push_back(std::move(process));
    }
  }
}

}  // namespace gpuready
