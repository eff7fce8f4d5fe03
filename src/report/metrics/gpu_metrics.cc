#include "report/metrics/gpu_metrics.h"

#include <set>

#include "base/text.h"
#include "machine/system/named_libraries.h"
#include "report/summary.h"
#include "value/about.h"

namespace gpuready {
namespace {

class GpuMetrics {
 public:
  GpuMetrics(Labels labels, Exposition& out) : labels_(std::move(labels)), out_(out) {}
  template <class T>
  void gauge(std::string_view name, std::string_view help, const std::optional<T>& value,
             double scale = 1) {
    if (value) out_.add(name, "gauge", help, labels_, static_cast<double>(*value) * scale);
  }
  template <class T>
  void kind(std::string_view name, std::string_view type, std::string_view help,
            std::string label_value, const std::optional<T>& value) {
    if (value)
      out_.add(name, type, help, with(labels_, "kind", std::move(label_value)),
               static_cast<double>(*value));
  }

 private:
  Labels labels_;
  Exposition& out_;
};

// One sample for each GPU concerned; of the whole machine, one without a GPU. A finding that is
// folded names its root, so that roots can be counted separately.
void add_finding(const Machine& machine, const Finding& finding, const std::string& root,
                 std::set<Labels>& told, const LabelsOf& labels_of, Exposition& out) {
  Labels labels = {{"id", finding.id},
                   {"severity", std::string(to_string(finding.severity))},
                   {"action", std::string(to_string(finding.action))},
                   {"root", root}};
  const auto add = [&](const Labels& each) {
    if (told.insert(each).second)
      out.add("gpuready_finding", "gauge", "Findings with this id; absent when there is none.",
              each, 1);
  };
  bool any = false;
  for (const Gpu& gpu : machine.gpus) {
    if (!is_about(finding, gpu)) continue;
    any = true;
    Labels own = labels;
    for (auto& label : labels_of(gpu)) own.push_back(std::move(label));
    add(own);
  }
  if (!any) add(labels);
  for (const Finding& inner : finding.explains)
    add_finding(machine, inner, root.empty() ? finding.id : root, told, labels_of, out);
}

}  // namespace

Labels gpu_labels(const Gpu& gpu) {
  return {{"gpu", std::to_string(gpu.index)},
          {"uuid", gpu.uuid.value_or("")},
          {"name", gpu.name},
          {"pci", gpu.pci ? gpu.pci->text() : ""}};
}

void add_run(const Report& report, Exit exit, Exposition& out) {
  std::string fakes;
  for (const auto& fake : report.machine.fakes) fakes += (fakes.empty() ? "" : ",") + fake;
  out.add("gpuready_info", "gauge", "The tool and what it was asked.",
          {{"version", report.tool_version},
           {"command", report.command},
           {"driver", report.machine.nvidia.module_version.value_or("")},
           {"cuda", report.machine.nvidia.cuda_version.value_or("")},
           {"faked", fakes},
           {"named_libraries", named_libraries_text(report.machine.named_libraries)}},
          1);
  out.add("gpuready_exit_code", "gauge",
          "0 all holds, 1 unhealthy, 2 usage, 3 required is absent, 4 not known.", {},
          static_cast<int>(exit));
  if (report.machine.system.unix_seconds)
    out.add("gpuready_read_timestamp_seconds", "gauge", "When the machine was read.", {},
            static_cast<double>(*report.machine.system.unix_seconds));
  out.add("gpuready_gpus", "gauge", "GPUs found.", {},
          static_cast<double>(report.machine.gpus.size()));
}

void add_gpu_info(const Gpu& gpu, const Labels& labels, Exposition& out) {
  Labels info = labels;
  info.emplace_back("vendor", std::string(to_string(gpu.vendor)));
  info.emplace_back("architecture", gpu.architecture.value_or(""));
  info.emplace_back("driver", gpu.driver.value_or(""));
  info.emplace_back("faked", gpu.faked ? "true" : "false");
  out.add("gpuready_gpu_info", "gauge", "What the GPU is.", std::move(info), 1);
}

void add_gpu_status(std::string_view status, const Labels& labels, Exposition& out) {
  out.add("gpuready_gpu_status", "gauge", "1 for the status that the GPU has.",
          with(labels, "status", std::string(status)), 1);
}

void add_gpu_ready(bool ready, const Labels& labels, Exposition& out) {
  out.add("gpuready_gpu_ready", "gauge",
          "1 when every obligation that the GPU owes is held; else 0.", labels, ready);
}

void add_gpu_obligations(std::span<const Obligation> owed, const Labels& labels, Exposition& out) {
  for (const Obligation& each : owed)
    out.add("gpuready_gpu_obligation", "gauge", "1 for the status of each obligation of the GPU.",
            with(with(labels, "obligation", std::string(to_string(each.kind))), "status",
                 std::string(to_string(each.status))),
            1);
}

void add_gpu_state(const Gpu& gpu, const Labels& labels, Exposition& out) {
  GpuMetrics metrics(labels, out);
  constexpr double kMega = 1e6, kMilli = 1e-3;
  const GpuMemory& memory = gpu.memory;
  metrics.gauge("gpuready_gpu_memory_size_bytes", "Memory of the GPU.", memory.total_bytes);
  metrics.gauge("gpuready_gpu_memory_free_bytes", "Memory that is free.", memory.free_bytes);
  metrics.gauge("gpuready_gpu_memory_used_bytes", "Memory in use.", memory.used_bytes);
  metrics.gauge("gpuready_gpu_memory_reserved_bytes", "Memory that the driver keeps.",
                memory.reserved_bytes);
  metrics.gauge("gpuready_gpu_temperature_celsius", "Temperature of the GPU.",
                gpu.thermal.gpu_celsius);
  metrics.gauge("gpuready_gpu_memory_temperature_celsius", "Temperature of the memory.",
                gpu.thermal.memory_celsius);
  metrics.gauge("gpuready_gpu_power_watts", "Power drawn.", gpu.power.draw_mw, kMilli);
  metrics.gauge("gpuready_gpu_power_limit_watts", "Power limit in force.", gpu.power.limit_mw,
                kMilli);
  metrics.gauge("gpuready_gpu_sm_clock_hertz", "Clock of the multiprocessors.", gpu.clocks.sm_mhz,
                kMega);
  metrics.gauge("gpuready_gpu_memory_clock_hertz", "Clock of the memory.", gpu.clocks.memory_mhz,
                kMega);
  metrics.gauge("gpuready_gpu_utilization_ratio", "Share of time in which a kernel ran.",
                gpu.utilization_percent, 0.01);
  metrics.gauge("gpuready_gpu_pcie_generation", "PCIe generation of the link now.",
                gpu.link_now.generation);
  metrics.gauge("gpuready_gpu_pcie_max_generation", "PCIe generation of the link at most.",
                gpu.link_max.generation);
  metrics.gauge("gpuready_gpu_pcie_lanes", "PCIe lanes of the link now.", gpu.link_now.width);
  metrics.gauge("gpuready_gpu_pcie_max_lanes", "PCIe lanes of the link at most.",
                gpu.link_max.width);
}

void add_gpu_errors(const Gpu& gpu, const Labels& labels, Exposition& out) {
  GpuMetrics metrics(labels, out);
  constexpr std::string_view kBoot = "gpuready_gpu_ecc_errors_total";
  constexpr std::string_view kBootHelp = "Memory errors since the driver was loaded.";
  metrics.kind(kBoot, "counter", kBootHelp, "corrected", gpu.ecc.since_boot.corrected);
  metrics.kind(kBoot, "counter", kBootHelp, "uncorrected", gpu.ecc.since_boot.uncorrected);
  constexpr std::string_view kLife = "gpuready_gpu_ecc_lifetime_errors_total";
  constexpr std::string_view kLifeHelp = "Memory errors in the life of the GPU.";
  metrics.kind(kLife, "counter", kLifeHelp, "corrected", gpu.ecc.lifetime.corrected);
  metrics.kind(kLife, "counter", kLifeHelp, "uncorrected", gpu.ecc.lifetime.uncorrected);
  constexpr std::string_view kRows = "gpuready_gpu_remapped_rows_total";
  constexpr std::string_view kRowsHelp = "Memory rows replaced by spare ones.";
  metrics.kind(kRows, "counter", kRowsHelp, "corrected", gpu.remapping.corrected);
  metrics.kind(kRows, "counter", kRowsHelp, "uncorrected", gpu.remapping.uncorrected);
  metrics.gauge("gpuready_gpu_remap_pending", "1 when a row waits for a reset to be replaced.",
                gpu.remapping.pending);
  metrics.gauge("gpuready_gpu_remap_failed", "1 when a row could not be replaced.",
                gpu.remapping.failed);
  constexpr std::string_view kPages = "gpuready_gpu_retired_pages_total";
  constexpr std::string_view kPagesHelp = "Memory pages taken out of use.";
  metrics.kind(kPages, "counter", kPagesHelp, "single_bit", gpu.retired.single_bit);
  metrics.kind(kPages, "counter", kPagesHelp, "double_bit", gpu.retired.double_bit);
  constexpr std::string_view kPcie = "gpuready_gpu_pcie_errors_total";
  constexpr std::string_view kPcieHelp = "Errors on the PCIe link.";
  metrics.kind(kPcie, "counter", kPcieHelp, "correctable", gpu.pcie_errors.correctable);
  metrics.kind(kPcie, "counter", kPcieHelp, "nonfatal", gpu.pcie_errors.nonfatal);
  metrics.kind(kPcie, "counter", kPcieHelp, "fatal", gpu.pcie_errors.fatal);
  metrics.kind(kPcie, "counter", kPcieHelp, "replays", gpu.pcie_errors.replays);
  for (const auto& [block, count] : gpu.ras_errors)
    metrics.kind("gpuready_gpu_ras_errors_total", "counter",
                 "Errors by block, as amdgpu counts them.", block, std::optional(count));
  if (gpu.nvlinks.empty()) return;
  int up = 0;
  std::optional<std::uint64_t> errors;
  for (const NvLink& link : gpu.nvlinks) {
    up += link.up.value_or(false);
    for (const auto& value : {link.replay_errors, link.recovery_errors, link.crc_errors})
      if (value) errors = errors.value_or(0) + *value;
  }
  metrics.gauge("gpuready_gpu_nvlinks", "NVLinks of the GPU.", std::optional(gpu.nvlinks.size()));
  metrics.gauge("gpuready_gpu_nvlinks_up", "NVLinks that are up.", std::optional(up));
  if (errors)
    metrics.kind("gpuready_gpu_nvlink_errors_total", "counter", "Errors on all NVLinks of the GPU.",
                 "all", errors);
}

void add_findings(const Report& report, const LabelsOf& labels_of, Exposition& out) {
  if (!report.findings) return;
  std::set<Labels> told;
  for (const Finding& finding : *report.findings)
    add_finding(report.machine, finding, "", told, labels_of, out);
}

}  // namespace gpuready
