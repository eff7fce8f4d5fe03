#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "base/units.h"
#include "report/facts.h"
#include "report/summary.h"

namespace gpuready {
namespace {

// Collects facts; one without a value is not added.
class Group {
 public:
  explicit Group(std::string title) { group_.title = std::move(title); }
  void text(const char* label, const std::optional<std::string>& value) {
    if (value && !value->empty()) group_.facts.push_back({label, *value});
  }
  template <class T>
  void number(const char* label, const std::optional<T>& value, std::string_view unit = "") {
    if (value) group_.facts.push_back({label, fmt::format("{}{}", *value, unit)});
  }
  void bytes(const char* label, const std::optional<std::uint64_t>& value) {
    if (value) group_.facts.push_back({label, format_bytes(*value)});
  }
  void flag(const char* label, const std::optional<bool>& value, const char* yes = "yes",
            const char* no = "no") {
    if (value) group_.facts.push_back({label, *value ? yes : no});
  }
  void parts(const char* label, const std::vector<std::string>& parts) {
    if (!parts.empty()) group_.facts.push_back({label, join(parts, ", ")});
  }
  void append_to(std::vector<FactGroup>& groups) {
    if (!group_.facts.empty()) groups.push_back(std::move(group_));
  }

 private:
  FactGroup group_;
};

template <class T>
void add(std::vector<std::string>& parts, const std::optional<T>& value, const char* format) {
  if (value) parts.push_back(fmt::format(fmt::runtime(format), *value));
}
void add_watts(std::vector<std::string>& parts, const std::optional<std::uint32_t>& mw,
               const char* format) {
  if (mw) parts.push_back(fmt::format(fmt::runtime(format), *mw / 1000.0));
}
void add_bytes(std::vector<std::string>& parts, const std::optional<std::uint64_t>& bytes,
               const char* what) {
  if (bytes) parts.push_back(format_bytes(*bytes) + what);
}

FactGroup identity(const Gpu& gpu) {
  Group group("Identity");
  group.text("Vendor", std::string(to_string(gpu.vendor)));
  if (gpu.pci) group.text("PCI address", gpu.pci->text());
  group.text("UUID", gpu.uuid);
  group.text("Serial", gpu.serial);
  group.text("Part number", gpu.part_number);
  group.text("Architecture", gpu.architecture);
  group.text("Compute capability", gpu.compute_capability);
  group.text("Target", gpu.gfx_target);
  group.number("Multiprocessors", gpu.multiprocessors);
  if (gpu.integrated) group.text("Kind", "integrated: shares the host's memory");
  group.text("Kernel driver", gpu.driver);
  group.text("VBIOS", gpu.vbios_version);
  group.text("Firmware", gpu.firmware_version);
  std::vector<std::string> numbers;
  add(numbers, gpu.nvml_index, "NVML {}");
  add(numbers, gpu.cuda_ordinal, "CUDA {}");
  add(numbers, gpu.minor_number, "/dev/nvidia{}");
  group.parts("Numbers", numbers);
  group.parts("Sources", gpu.sources);
  std::vector<FactGroup> out;
  group.append_to(out);
  return out.empty() ? FactGroup{} : out[0];
}

void memory(const Gpu& gpu, std::vector<FactGroup>& out) {
  Group group("Memory");
  group.bytes("Total", gpu.memory.total_bytes);
  group.bytes("Free", gpu.memory.free_bytes);
  group.bytes("Used", gpu.memory.used_bytes);
  group.bytes("Kept by the driver", gpu.memory.reserved_bytes);
  group.bytes("BAR1", gpu.memory.bar1_total_bytes);
  group.number("Bus width", gpu.memory.bus_width_bits, " bits");
  group.flag("ECC", gpu.ecc.enabled_now, "on", "off");
  if (gpu.ecc.enabled_pending != gpu.ecc.enabled_now)
    group.flag("ECC after reboot", gpu.ecc.enabled_pending, "on", "off");
  const auto counts = [&](const char* label, const EccCounts& ecc) {
    std::vector<std::string> parts;
    add(parts, ecc.corrected, "{} corrected");
    add(parts, ecc.uncorrected, "{} uncorrected");
    group.parts(label, parts);
  };
  counts("ECC errors since boot", gpu.ecc.since_boot);
  counts("ECC errors, lifetime", gpu.ecc.lifetime);
  group.flag("SRAM error threshold", gpu.ecc.sram_threshold_exceeded, "exceeded", "not reached");
  std::vector<std::string> rows;
  add(rows, gpu.remapping.corrected, "{} for corrected");
  add(rows, gpu.remapping.uncorrected, "{} for uncorrected");
  if (gpu.remapping.pending.value_or(false)) rows.push_back("one pending a reset");
  if (gpu.remapping.failed.value_or(false)) rows.push_back("remapping FAILED");
  group.parts("Remapped rows", rows);
  std::vector<std::string> banks;
  add(banks, gpu.remapping.banks_max, "{} full");
  add(banks, gpu.remapping.banks_high, "{} high");
  add(banks, gpu.remapping.banks_partial, "{} partial");
  add(banks, gpu.remapping.banks_low, "{} low");
  add(banks, gpu.remapping.banks_none, "{} none");
  group.parts("Banks by spare rows left", banks);
  std::vector<std::string> pages;
  add(pages, gpu.retired.single_bit, "{} single-bit");
  add(pages, gpu.retired.double_bit, "{} double-bit");
  if (gpu.retired.pending.value_or(false)) pages.push_back("one pending a reboot");
  group.parts("Retired pages", pages);
  std::vector<std::string> ras;
  for (const auto& [name, count] : gpu.ras_errors) ras.push_back(fmt::format("{} {}", name, count));
  group.parts("RAS errors", ras);
  group.append_to(out);
}

void running(const Gpu& gpu, std::vector<FactGroup>& out) {
  Group group("Clocks, power, heat");
  std::vector<std::string> clocks, top, power, heat, limits;
  add(clocks, gpu.clocks.sm_mhz, "SM {} MHz");
  add(clocks, gpu.clocks.memory_mhz, "memory {} MHz");
  group.parts("Clocks now", clocks);
  add(top, gpu.clocks.max_sm_mhz, "SM {} MHz");
  add(top, gpu.clocks.max_memory_mhz, "memory {} MHz");
  group.parts("Clocks at most", top);
  if (gpu.clock_event_reasons)
    group.text("Clocks held by", clock_event_text(*gpu.clock_event_reasons));
  add_watts(power, gpu.power.draw_mw, "{:.0f} W drawn");
  add_watts(power, gpu.power.limit_mw, "limit {:.0f} W");
  if (gpu.power.default_limit_mw != gpu.power.limit_mw)
    add_watts(power, gpu.power.default_limit_mw, "default {:.0f} W");
  if (gpu.power.max_limit_mw != gpu.power.limit_mw)
    add_watts(power, gpu.power.max_limit_mw, "at most {:.0f} W");
  group.parts("Power", power);
  add(heat, gpu.thermal.gpu_celsius, "GPU {} C");
  add(heat, gpu.thermal.memory_celsius, "memory {} C");
  group.parts("Temperature", heat);
  add(limits, gpu.thermal.slowdown_celsius, "slows at {} C");
  add(limits, gpu.thermal.shutdown_celsius, "shuts down at {} C");
  group.parts("Limits", limits);
  group.number("Utilisation", gpu.utilization_percent, "%");
  group.append_to(out);
}

std::string nvlink_text(const Gpu& gpu) {
  const auto up = std::count_if(gpu.nvlinks.begin(), gpu.nvlinks.end(),
                                [](const NvLink& link) { return link.up.value_or(false); });
  std::map<int, int> versions;
  std::uint64_t errors = 0;
  bool counted = false;
  for (const NvLink& link : gpu.nvlinks) {
    if (link.version) ++versions[*link.version];
    for (const auto& value : {link.replay_errors, link.recovery_errors, link.crc_errors})
      if (value) counted = true, errors += *value;
  }
  std::string text = fmt::format("{} of {} up", up, gpu.nvlinks.size());
  for (const auto& [version, count] : versions) text += fmt::format(", version {}", version);
  if (counted) text += fmt::format(", {} link errors", errors);
  return text;
}

void connection(const Gpu& gpu, std::vector<FactGroup>& out) {
  Group group("Connection");
  group.text("PCIe link", link_text(gpu.link_now, gpu.link_max));
  std::vector<std::string> errors;
  add(errors, gpu.pcie_errors.correctable, "{} correctable");
  add(errors, gpu.pcie_errors.nonfatal, "{} non-fatal");
  add(errors, gpu.pcie_errors.fatal, "{} fatal");
  add(errors, gpu.pcie_errors.replays, "{} replays");
  group.parts("PCIe errors", errors);
  if (!gpu.nvlinks.empty()) group.text("NVLink", nvlink_text(gpu));
  std::vector<std::string> peers, fabric;
  for (const PciAddress& peer : gpu.xgmi_peers) peers.push_back(peer.text());
  group.parts("xGMI peers", peers);
  if (gpu.fabric.state) fabric.push_back(*gpu.fabric.state);
  add(fabric, gpu.fabric.status, "status {}");
  add(fabric, gpu.fabric.clique_id, "clique {}");
  if (gpu.fabric.cluster_uuid) fabric.push_back("cluster " + *gpu.fabric.cluster_uuid);
  if (gpu.fabric.health_mask) fabric.push_back("health " + format_hex(*gpu.fabric.health_mask));
  group.parts("Fabric", fabric);
  group.number("NUMA node", gpu.numa_node);
  group.text("CPUs", gpu.cpu_affinity);
  group.append_to(out);
}

void modes(const Gpu& gpu, std::vector<FactGroup>& out) {
  Group group("Modes and state");
  if (gpu.faked) group.text("Faked", "claimed by a fake: does not exist, cannot execute");
  if (gpu.suspended) group.text("Suspended", "yes, and was not woken");
  if (gpu.excluded.value_or(false)) group.text("Excluded", "yes, by the driver's settings");
  group.flag("Persistence", gpu.persistence, "on", "off");
  group.text("Compute mode", gpu.compute_mode);
  group.flag("MIG", gpu.mig_enabled, "on", "off");
  if (gpu.mig_pending != gpu.mig_enabled)
    group.flag("MIG after reset", gpu.mig_pending, "on", "off");
  group.text("Virtualization", gpu.virtualization);
  group.text("vGPU licence", gpu.vgpu_license);
  group.flag("Confidential computing", gpu.confidential_compute, "on", "off");
  group.flag("Accepts work", gpu.confidential_compute_ready);
  group.flag("Visible to CUDA", gpu.visible_to_cuda);
  if (gpu.recovery_action && *gpu.recovery_action != "none")
    group.text("Recovery needed", gpu.recovery_action);
  group.flag("InfoROM", gpu.inforom_valid, "valid", "CORRUPT");
  for (const MigInstance& instance : gpu.mig) {
    std::vector<std::string> parts{instance.name.value_or("instance")};
    if (instance.uuid) parts.push_back(*instance.uuid);
    add_bytes(parts, instance.memory_total_bytes, "");
    add(parts, instance.multiprocessors, "{} SMs");
    group.parts("MIG instance", parts);
  }
  for (const GpuProcess& process : gpu.processes) {
    std::vector<std::string> parts{fmt::format("pid {}", process.pid)};
    if (process.name) parts.push_back(*process.name);
    add_bytes(parts, process.used_bytes, "");
    if (!process.kind.empty()) parts.push_back(process.kind);
    group.parts("Process", parts);
  }
  for (const ApiStatus& error : gpu.errors)
    group.text("Call failed", fmt::format("{}: {} ({})", error.call, error.name, error.code));
  group.append_to(out);
}

void cuda_limits(const CudaLimits& cuda, std::vector<FactGroup>& out) {
  Group group("CUDA limits");
  std::vector<std::string> threads, shared, has;
  add(threads, cuda.max_threads_per_block, "{} a block");
  add(threads, cuda.max_threads_per_multiprocessor, "{} an SM");
  add(threads, cuda.warp_size, "warps of {}");
  group.parts("Threads", threads);
  group.number("Blocks an SM", cuda.max_blocks_per_multiprocessor);
  group.number("Registers an SM", cuda.registers_per_multiprocessor);
  add_bytes(shared, cuda.shared_memory_per_block_bytes, " a block");
  add_bytes(shared, cuda.shared_memory_per_block_optin_bytes, " on request");
  add_bytes(shared, cuda.shared_memory_per_multiprocessor_bytes, " an SM");
  group.parts("Shared memory", shared);
  group.bytes("L2 cache", cuda.l2_cache_bytes);
  group.bytes("Memory", cuda.total_memory_bytes);
  group.number("Copy engines", cuda.copy_engines);
  const std::pair<const std::optional<bool>*, const char*> kFlags[] = {
      {&cuda.cooperative_launch, "cooperative launch"},
      {&cuda.managed_memory, "managed memory"},
      {&cuda.unified_addressing, "unified addressing"},
      {&cuda.memory_pools, "memory pools"},
      {&cuda.compression, "compression"},
      {&cuda.multicast, "multicast"},
      {&cuda.tcc_driver, "TCC driver"}};
  for (const auto& [value, name] : kFlags)
    if (value->value_or(false)) has.push_back(name);
  group.parts("Has", has);
  group.append_to(out);
}

}  // namespace

// Bits from NVML's API reference, nvmlClocksEventReasons.
std::string clock_event_text(std::uint64_t reasons) {
  constexpr std::pair<std::uint64_t, const char*> kBits[] = {{0x1, "idle"},
                                                             {0x2, "application clocks"},
                                                             {0x4, "software power cap"},
                                                             {0x8, "HW slowdown"},
                                                             {0x10, "sync boost"},
                                                             {0x20, "software thermal slowdown"},
                                                             {0x40, "HW thermal slowdown"},
                                                             {0x80, "HW power brake"},
                                                             {0x100, "display clocks"}};
  if (reasons == 0) return "nothing";
  std::vector<std::string> names;
  for (const auto& [bit, name] : kBits) {
    if (reasons & bit) names.push_back(name);
    reasons &= ~bit;
  }
  if (reasons != 0) names.push_back("other " + format_hex(reasons));
  return join(names, ", ");
}

std::vector<FactGroup> gpu_facts(const Gpu& gpu) {
  std::vector<FactGroup> out;
  out.push_back(identity(gpu));
  memory(gpu, out);
  running(gpu, out);
  connection(gpu, out);
  modes(gpu, out);
  if (gpu.cuda) cuda_limits(*gpu.cuda, out);
  return out;
}

}  // namespace gpuready
