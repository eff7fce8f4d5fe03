// The Prometheus text exposition format, version 0.0.4: metric families with HELP and TYPE.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "machine/system/named_libraries.h"
#include "report/summary.h"
#include "report/text_layout.h"
#include "value/about.h"

namespace gpuready {
namespace {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

// Collects families in the order in which they first appear; samples of one family stand together,
// as the format demands, and two with the same labels become their sum.
class Exposition {
 public:
  // `type`: "gauge" or "counter". Values that are not numbers are left out.
  void add(std::string_view name, std::string_view type, std::string_view help, Labels labels,
           double value);
  std::string text() const;

 private:
  struct Sample {
    Labels labels;
    double value = 0;
  };
  struct Family {
    std::string name, type, help;
    std::vector<Sample> samples;
  };
  std::vector<Family> families_;
};

std::string escape_label(std::string_view value) {
  std::string out;
  for (const char c : one_line(value)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

void Exposition::add(std::string_view name, std::string_view type, std::string_view help,
                     Labels labels, double value) {
  if (!std::isfinite(value)) return;
  auto family = std::find_if(families_.begin(), families_.end(),
                             [&](const Family& each) { return each.name == name; });
  if (family == families_.end())
    family = families_.insert(families_.end(),
                              {std::string(name), std::string(type), std::string(help), {}});
  const auto same = std::find_if(family->samples.begin(), family->samples.end(),
                                 [&](const Sample& each) { return each.labels == labels; });
  if (same != family->samples.end())
    same->value += value;
  else
    family->samples.push_back({std::move(labels), value});
}

std::string Exposition::text() const {
  std::string out;
  for (const Family& family : families_) {
    out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", family.name, family.help, family.name,
                       family.type);
    for (const Sample& sample : family.samples) {
      out += family.name;
      for (std::size_t i = 0; i < sample.labels.size(); ++i)
        out += fmt::format("{}{}=\"{}\"", i == 0 ? "{" : ",", sample.labels[i].first,
                           escape_label(sample.labels[i].second));
      // Counters and bytes are whole: written without an exponent, they read exactly.
      const bool whole = sample.value == std::floor(sample.value) && std::fabs(sample.value) < 1e15;
      out += fmt::format(
          "{} {}\n", sample.labels.empty() ? "" : "}",
          whole ? fmt::format("{:.0f}", sample.value) : fmt::format("{}", sample.value));
    }
  }
  return out;
}

// Who a sample is about; a label that is not known stays empty, which Prometheus takes for absent.
Labels gpu_labels(const Gpu& gpu) {
  return {{"gpu", std::to_string(gpu.index)},
          {"uuid", gpu.uuid.value_or("")},
          {"name", gpu.name},
          {"pci", gpu.pci ? gpu.pci->text() : ""}};
}
Labels with(Labels labels, std::string_view key, std::string value) {
  labels.emplace_back(key, std::move(value));
  return labels;
}

class GpuMetrics {
 public:
  GpuMetrics(const Gpu& gpu, Exposition& out) : labels_(gpu_labels(gpu)), out_(out) {}
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

void add_gpu_state(const Gpu& gpu, GpuMetrics& metrics) {
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

void add_gpu_errors(const Gpu& gpu, GpuMetrics& metrics) {
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

void add_gpus(const Report& report, const Summary& summary, Exposition& out) {
  for (const GpuSummary& row : summary.gpus) {
    const Gpu& gpu = *row.gpu;
    GpuMetrics metrics(gpu, out);
    Labels info = gpu_labels(gpu);
    info.emplace_back("vendor", std::string(to_string(gpu.vendor)));
    info.emplace_back("architecture", gpu.architecture.value_or(""));
    info.emplace_back("driver", gpu.driver.value_or(""));
    info.emplace_back("faked", gpu.faked ? "true" : "false");
    out.add("gpuready_gpu_info", "gauge", "What the GPU is.", std::move(info), 1);
    const bool ready = is_ready(row.state);
    // Where nothing was to be tested, 0 would be a false alarm.
    if (report.verdicts && !is_set_apart(row.state))
      metrics.gauge("gpuready_gpu_ready",
                    "1 when every obligation that the GPU owes is held; else 0.",
                    std::optional(ready));
    out.add("gpuready_gpu_status", "gauge", "1 for the status that the GPU has.",
            with(gpu_labels(gpu), "status", std::string(name_of(row.state))), 1);
    for (const Obligation& owed : row.obligations)
      out.add("gpuready_gpu_obligation", "gauge", "1 for the status of each obligation of the GPU.",
              with(with(gpu_labels(gpu), "obligation", std::string(to_string(owed.kind))), "status",
                   std::string(to_string(owed.status))),
              1);
    add_gpu_state(gpu, metrics);
    add_gpu_errors(gpu, metrics);
  }
}

// Every metric in its own unit, which is a label, since tests name what they measure.
void add_metrics(const Verdict& verdict, const Labels& labels, Exposition& out) {
  std::set<std::string_view> told;
  for (const Metric& metric : verdict.metrics) {
    if (!told.insert(metric.name).second) continue;
    const Labels own = with(with(labels, "metric", metric.name), "unit", metric.unit);
    out.add("gpuready_metric", "gauge", "What a test measured, in the unit of its label.", own,
            metric.value);
    if (metric.threshold)
      out.add("gpuready_metric_threshold", "gauge", "The least that passes.", own,
              *metric.threshold);
  }
}

void add_tests(const Report& report, const Summary& summary, Exposition& out) {
  for (const TestSummary& test : summary.tests) {
    const Verdict& verdict = *test.verdict;
    Labels labels{
        {"test", verdict.test}, {"subject", verdict.subject}, {"executor", verdict.executor}};
    const Gpu* gpu = nullptr;
    for (const Gpu& each : report.machine.gpus)
      if (test.gpu == each.index) gpu = &each;
    const Labels about = gpu ? gpu_labels(*gpu)
                             : Labels{{"gpu", ""},
                                      {"uuid", verdict.uuid.value_or("")},
                                      {"name", ""},
                                      {"pci", verdict.pci_address.value_or("")}};
    labels.insert(labels.end(), about.begin(), about.end());
    out.add("gpuready_test_status", "gauge", "1 for the status that the test ended with.",
            with(labels, "status", std::string(to_string(verdict.status))), 1);
    // A pass with an injected fault does not count.
    out.add("gpuready_test_passed", "gauge",
            "1 when the test passed; else 0, also when not tested.", labels,
            verdict.status == VerdictStatus::passed && !verdict.injected_fault);
    if (verdict.injected_fault)
      out.add("gpuready_test_fault_injected", "gauge",
              "1 where a fault was injected on purpose: the result says nothing about the device.",
              with(labels, "fault", *verdict.injected_fault), 1);
    out.add("gpuready_test_duration_seconds", "gauge", "How long the test took.", labels,
            verdict.duration_ms / 1000);
    out.add("gpuready_test_bad_words", "gauge", "Words that did not read back as written.", labels,
            static_cast<double>(verdict.bad_words_total));
    out.add("gpuready_test_mismatches", "gauge", "Computed or copied values that were wrong.",
            labels, static_cast<double>(verdict.mismatches_total));
    if (verdict.units) {
      out.add("gpuready_test_units", "gauge", "SMs (threads of a CPU) seen to do the work.", labels,
              verdict.units->tested);
      out.add("gpuready_test_units_expected", "gauge", "SMs (threads of a CPU) that there are.",
              labels, verdict.units->total);
    }
    if (verdict.coverage)
      out.add("gpuready_test_tested_bytes", "gauge", "Bytes verified, counted by the device.",
              labels, static_cast<double>(verdict.coverage->tested_bytes));
    if (test.tested_of_total)
      out.add("gpuready_test_coverage_ratio", "gauge",
              "Bytes verified, of all that the device has.", labels, *test.tested_of_total);
    if (test.copy_bytes_per_second)
      out.add("gpuready_test_copy_bytes_per_second", "gauge", "Copy rate measured in the same run.",
              labels, *test.copy_bytes_per_second);
    for (const Figure& rate : test.rates)
      if (rate.unit == "B/s")
        out.add("gpuready_test_rate_bytes_per_second", "gauge", "Rate that the test reached.",
                with(labels, "rate", rate.name), rate.value);
    add_metrics(verdict, labels, out);
  }
}

// The last of what was sampled, in base units.
void add_samples(const Report& report, Exposition& out) {
  struct Told {
    std::string_view series, name, help;
    double scale = 1;
  };
  constexpr Told kTold[] = {
      {"sm_clock", "gpuready_sampled_sm_clock_hertz", "Clock of the multiprocessors.", 1e6},
      {"memory_clock", "gpuready_sampled_memory_clock_hertz", "Clock of the memory.", 1e6},
      {"power", "gpuready_sampled_power_watts", "Power drawn."},
      {"gpu_temperature", "gpuready_sampled_temperature_celsius", "Temperature of the GPU."},
      {"memory_temperature", "gpuready_sampled_memory_temperature_celsius",
       "Temperature of the memory."},
      {"utilization", "gpuready_sampled_utilization_ratio", "Share of time in which a kernel ran."},
  };
  if (!report.samples) return;
  for (const SampleSeries& series : report.samples->series) {
    const Gpu* gpu = nullptr;
    for (const Gpu& each : report.machine.gpus)
      if (series.gpu == each.index) gpu = &each;
    if (!gpu) continue;
    for (const Told& told : kTold) {
      if (told.series != series.name) continue;
      for (const auto& [stat, value] :
           {std::pair{"last", series.last}, {"mean", series.mean}, {"max", series.max}})
        out.add(told.name, "gauge", fmt::format("{} Sampled while the tests ran.", told.help),
                with(gpu_labels(*gpu), "stat", stat), value * told.scale);
    }
    if (const auto event = after_prefix(series.name, "clock_event_"))
      out.add("gpuready_sampled_clock_event_ratio", "gauge",
              "Share of the tests' time in which this held the clocks back.",
              with(gpu_labels(*gpu), "reason", std::string(*event)), series.mean);
  }
}

// One sample for each GPU concerned; of the whole machine, one without a GPU. A finding that is
// folded names its root, so that roots can be counted separately.
void add_finding(const Machine& machine, const Finding& finding, const std::string& root,
                 std::set<Labels>& told, Exposition& out) {
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
    for (auto& label : gpu_labels(gpu)) own.push_back(std::move(label));
    add(own);
  }
  if (!any) add(labels);
  for (const Finding& inner : finding.explains)
    add_finding(machine, inner, root.empty() ? finding.id : root, told, out);
}

void add_findings(const Report& report, Exposition& out) {
  if (!report.findings) return;
  std::set<Labels> told;
  for (const Finding& finding : *report.findings)
    add_finding(report.machine, finding, "", told, out);
}

}  // namespace

std::string render_prometheus(const Report& report) {
  const Summary summary = summarize(report);
  Exposition out;
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
          static_cast<int>(report.exit));
  out.add("gpuready_duration_seconds", "gauge", "How long the command took.", {},
          report.duration_ms / 1000);
  if (report.machine.system.unix_seconds)
    out.add("gpuready_read_timestamp_seconds", "gauge", "When the machine was read.", {},
            static_cast<double>(*report.machine.system.unix_seconds));
  out.add("gpuready_gpus", "gauge", "GPUs found.", {}, static_cast<double>(summary.gpus.size()));
  if (report.verdicts)
    out.add("gpuready_gpus_ready", "gauge", "GPUs that are ready for work.", {}, summary.ready);
  add_gpus(report, summary, out);
  add_tests(report, summary, out);
  add_samples(report, out);
  for (const TestSummary& check : summary.fitness)
    out.add(
        "gpuready_fitness_status", "gauge",
        "1 for the status that the fitness check of the host ended with.",
        {{"check", check.verdict->test}, {"status", std::string(to_string(check.verdict->status))}},
        1);
  add_findings(report, out);
  if (report.verdicts)
    out.add("gpuready_fault_injected", "gauge",
            "1 when a fault was injected on purpose into any test: nothing is proven then.", {},
            summary.injected.has_value());
  return out.text();
}

}  // namespace gpuready
