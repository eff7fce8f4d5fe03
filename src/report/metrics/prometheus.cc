// A report as metrics, for the textfile collector of Prometheus' node exporter.
#include <fmt/format.h>

#include <set>

#include "base/text.h"
#include "report/metrics/gpu_metrics.h"
#include "report/summary.h"
#include "value/about.h"

namespace gpuready {
namespace {

void add_gpus(const Report& report, const Summary& summary, Exposition& out) {
  for (const GpuSummary& row : summary.gpus) {
    const Gpu& gpu = *row.gpu;
    const Labels labels = gpu_labels(gpu);
    add_gpu_info(gpu, labels, out);
    // Where nothing was to be tested, 0 would be a false alarm.
    if (report.verdicts && !is_set_apart(row.state))
      add_gpu_ready(is_ready(row.state), labels, out);
    add_gpu_status(name_of(row.state), labels, out);
    add_gpu_obligations(row.obligations, labels, out);
    add_gpu_state(gpu, labels, out);
    add_gpu_errors(gpu, labels, out);
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
  struct SampledMetric {
    std::string_view series, name, help;
    double scale = 1;
  };
  constexpr SampledMetric kSampledMetrics[] = {
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
    for (const SampledMetric& metric : kSampledMetrics) {
      if (metric.series != series.name) continue;
      for (const auto& [stat, value] :
           {std::pair{"last", series.last}, {"mean", series.mean}, {"max", series.max}})
        out.add(metric.name, "gauge", fmt::format("{} Sampled while the tests ran.", metric.help),
                with(gpu_labels(*gpu), "stat", stat), value * metric.scale);
    }
    if (const auto event = after_prefix(series.name, "clock_event_"))
      out.add("gpuready_sampled_clock_event_ratio", "gauge",
              "Share of the tests' time in which this held the clocks back.",
              with(gpu_labels(*gpu), "reason", std::string(*event)), series.mean);
  }
}

}  // namespace

std::string render_prometheus(const Report& report) {
  const Summary summary = summarize(report);
  Exposition out;
  add_run(report, report.exit, out);
  out.add("gpuready_duration_seconds", "gauge", "How long the command took.", {},
          report.duration_ms / 1000);
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
  add_findings(report, gpu_labels, out);
  if (report.verdicts)
    out.add("gpuready_fault_injected", "gauge",
            "1 when a fault was injected on purpose into any test: nothing is proven then.", {},
            summary.injected.has_value());
  return out.text();
}

}  // namespace gpuready
