#include "exporter/report/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "base/vendor_codes.h"
#include "machine/pci/pci_addresses.h"
#include "report/conclude.h"
#include "report/metrics/gpu_metrics.h"
#include "report/summary.h"
#include "value/action.h"

namespace gpuready::exporter {
namespace {

bool is_of(const KeptResult& kept, const Gpu& gpu) {
  return kept.uuid && gpu.uuid ? kept.uuid == gpu.uuid : kept.pci && kept.pci == gpu.pci;
}

class Page {
 public:
  Page(const Observed& seen, const Moment& moment, const PageOptions& options)
      : seen_(seen),
        now_(moment.now),
        options_(options),
        status_(status_of(seen.kept, moment.present)),
        silent_seconds_(unanswered_seconds(seen, moment.now)) {
    if (seen.report) summary_ = summarize(*seen.report);
  }

  std::string text() {
    add_exporter();
    add_machine();
    for (const SeenGpu& each : seen_.gpus) add_gpu(each);
    add_kept();
    add_xids();
    if (seen_.report)
      add_findings(*seen_.report, [&](const Gpu& gpu) { return labels_of(gpu); }, out_);
    return out_.text(options_.format);
  }

 private:
  void gauge(std::string_view name, std::string_view help, double value, Labels labels = {}) {
    out_.add(name, "gauge", help, std::move(labels), value);
  }

  void add_exporter() {
    for (const auto& [result, count] : {std::pair{"answered", seen_.answered},
                                        {"unanswered", seen_.unanswered},
                                        {"failed", seen_.failed}})
      out_.add("gpuready_exporter_samples_total", "counter",
               "Samples that were taken, by whether the driver answered.", {{"result", result}},
               static_cast<double>(count));
    gauge("gpuready_driver_unanswered_seconds",
          "For how long the driver has not answered; 0 while it answers.", silent_seconds_);
    if (!seen_.sampled_at) return;
    gauge("gpuready_exporter_sample_age_seconds", "Time since the latest complete sample.",
          now_ - *seen_.sampled_at);
    gauge("gpuready_exporter_sample_duration_seconds", "How long the latest sample took.",
          seen_.duration_seconds);
  }

  void add_machine() {
    if (!seen_.report) return;
    const Report& report = *seen_.report;
    const Machine& machine = report.machine;
    add_run(report, silent_seconds_ > 0 ? Exit::unknown : report.exit, out_);
    const auto usable = usable_gpus(report);
    gauge("gpuready_gpus_usable",
          "GPUs that can be given work, as far as a diagnosis without a test shows.",
          silent_seconds_ > 0 ? 0 : static_cast<double>(std::ranges::count(usable, true)));
    const struct {
      std::uint16_t vendor;
      const char* driver;
      bool loaded;
    } drivers[] = {
        {pci_vendor::kNvidia, "nvidia", machine.nvidia.module_loaded},
        {pci_vendor::kAmd, "amdgpu", machine.amd.module_loaded},
        {pci_vendor::kIntel, "i915 or xe", machine.intel.i915_loaded || machine.intel.xe_loaded}};
    for (const auto& [vendor, driver, loaded] : drivers)
      if (std::ranges::any_of(machine.pci, [&](const PciDevice& device) {
            return device.is_gpu && device.vendor_id == vendor;
          }))
        gauge("gpuready_driver_loaded",
              "1 when the kernel driver of a vendor whose GPUs are on the bus is loaded; else 0.",
              loaded, {{"driver", driver}});
    gauge("gpuready_kernel_log_readable", "1 when Xids can be read from the kernel log; else 0.",
          machine.kernel_log.readable);
  }

  Labels labels_of(const Gpu& gpu) const {
    for (const SeenGpu& each : seen_.gpus)
      if (each.present && (gpu.pci ? gpu.pci == each.gpu.pci : gpu.uuid == each.gpu.uuid))
        return labels_of(each);
    return gpu_labels(gpu);
  }
  static Labels labels_of(const SeenGpu& seen) {
    Gpu gpu;
    gpu.index = seen.number;
    gpu.uuid = seen.gpu.uuid;
    gpu.name = seen.gpu.name;
    gpu.pci = seen.gpu.pci;
    return gpu_labels(gpu);
  }

  const GpuSummary* row_of(const SeenGpu& seen) const {
    if (!summary_ || !seen.present) return nullptr;
    for (const GpuSummary& row : summary_->gpus)
      if (labels_of(*row.gpu) == labels_of(seen)) return &row;
    return nullptr;
  }
  const KeptResult* kept_of(const Gpu& gpu) const {
    const auto found = std::ranges::find_if(
        status_.results, [&](const KeptResult& kept) { return is_of(kept, gpu); });
    return found == status_.results.end() ? nullptr : &*found;
  }
  std::optional<int> last_xid(const Gpu& gpu) const {
    if (!seen_.report || !seen_.report->machine.kernel_log.readable || !gpu.pci)
      return std::nullopt;
    for (const XidEvent& event : seen_.standing)
      if (same_slot(*event.pci, *gpu.pci)) return event.code;
    return 0;
  }

  void add_gpu(const SeenGpu& seen) {
    const Gpu& gpu = seen.gpu;
    const Labels labels = labels_of(seen);
    const GpuSummary* row = row_of(seen);
    const bool judged = row && silent_seconds_ == 0, answers = judged && seen.answers;
    const GpuState state = judged ? row->state : GpuState::unknown;
    add_gpu_info(gpu, labels, out_);
    gauge("gpuready_gpu_present", "1 while the GPU is found; 0 once it has disappeared.",
          seen.present, labels);
    gauge("gpuready_gpu_answer_age_seconds", "Time since the GPU was seen by a complete sample.",
          now_ - seen.seen_at, labels);
    add_gpu_status(seen.present ? name_of(state) : "lost", labels, out_);
    const KeptResult* kept = kept_of(gpu);
    if (!is_set_apart(state)) {
      const bool sound = judged && (state == GpuState::no_problem || state == GpuState::warned ||
                                    state == GpuState::suspended);
      add_gpu_ready(sound && kept && kept->standing == Standing::good, labels, out_);
    }
    if (answers) add_gpu_state(gpu, labels, out_);
    add_gpu_errors(gpu, labels, out_);
    if (judged && seen_.report->findings)
      add_action(strongest_action(*seen_.report->findings, *row->gpu), "diagnosis", labels);
    if (options_.dcgm_names)
      add_dcgm(gpu, seen.number, seen_.report ? seen_.report->machine.system.host_name : "",
               answers, last_xid(gpu), out_);
    if (gpu.vendor != Vendor::nvidia) return;
    if (const auto xid = last_xid(gpu))
      gauge("gpuready_gpu_last_xid",
            "The latest Xid of the GPU; 0 when none is known that a reset, a restart of the driver "
            "or a passed test has not cleared.",
            *xid, labels);
  }

  void add_action(Action action, std::string_view source, const Labels& labels) {
    gauge("gpuready_gpu_action",
          "1 for the strongest action that the GPU needs, by the latest test or diagnosis.", 1,
          with(with(labels, "action", std::string(to_string(action))), "source",
               std::string(source)));
  }

  // A GPU that is known only from an earlier test is reported, too.
  void add_kept() {
    gauge("gpuready_kept_results_readable",
          "1 when the results that check and test keep can be read; else 0.", !seen_.kept_error);
    for (const KeptResult& kept : status_.results) {
      const auto seen = std::ranges::find_if(
          seen_.gpus, [&](const SeenGpu& each) { return is_of(kept, each.gpu); });
      Labels labels = {{"gpu", ""}, {"uuid", ""}, {"name", ""}, {"pci", ""}};
      const bool of_gpu = kept.uuid || kept.pci || kept.subject.starts_with("GPU ");
      if (seen != seen_.gpus.end())
        labels = labels_of(*seen);
      else if (of_gpu)
        labels = {{"gpu", ""},
                  {"uuid", kept.uuid.value_or("")},
                  {"name", ""},
                  {"pci", kept.pci ? kept.pci->text() : ""}};
      const bool gone = of_gpu && seen == seen_.gpus.end() && seen_.sampled_at;
      if (gone) {
        gauge("gpuready_gpu_present", "1 while the GPU is found; 0 once it has disappeared.", 0,
              labels);
        add_gpu_status("lost", labels, out_);
        add_gpu_ready(false, labels, out_);
      }
      add_gpu_obligations(kept.obligations, labels, out_);
      if (of_gpu && kept.action) add_action(*kept.action, "test", labels);
      const Labels own = with(labels, "subject", of_gpu ? "gpu" : "machine");
      gauge("gpuready_kept_result",
            "1 for what the kept result of the GPU, or of the machine, is worth now.", 1,
            with(with(own, "standing", std::string(name_of(kept.standing))), "level",
                 std::string(to_string(kept.level))));
      gauge("gpuready_kept_result_timestamp_seconds", "When the kept result was decided.",
            static_cast<double>(kept.tested_unix_seconds), own);
    }
  }

  void add_xids() {
    for (const XidCount& each : seen_.xids) {
      const auto seen = std::ranges::find_if(seen_.gpus, [&](const SeenGpu& gpu) {
        return gpu.gpu.pci && same_slot(*gpu.gpu.pci, each.slot);
      });
      const Labels labels =
          seen != seen_.gpus.end()
              ? labels_of(*seen)
              : Labels{{"gpu", ""}, {"uuid", ""}, {"name", ""}, {"pci", each.slot.text()}};
      out_.add("gpuready_gpu_xids_total", "counter",
               "Xids that the kernel log of this boot has reported, by code.",
               with(labels, "xid", std::to_string(each.code)), static_cast<double>(each.count));
    }
  }

  const Observed& seen_;
  const double now_;
  const PageOptions& options_;
  const StatusReport status_;
  const double silent_seconds_;
  std::optional<Summary> summary_;
  Exposition out_;
};

}  // namespace

std::string page(const Observed& seen, const Moment& moment, const PageOptions& options) {
  return Page(seen, moment, options).text();
}

Readiness readiness(const Observed& seen, double now, double interval_seconds) {
  const double silent = unanswered_seconds(seen, now);
  const auto seconds = [](double value) { return format_duration_ms(value * 1000); };
  if (silent > 0)
    return {false, fmt::format("no answer of the driver for {}{}", seconds(silent),
                               seen.silence ? ": " + *seen.silence : "")};
  if (!seen.sampled_at) return {false, "the first sample is being taken"};
  const double age = now - *seen.sampled_at;
  constexpr double kMissed = 3;
  if (age > kMissed * interval_seconds)
    return {false, fmt::format("the latest sample is {} old", seconds(age))};
  return {true, seen.report->conclusion.value_or("sampled")};
}

HttpAnswer answer(std::string_view path, std::string_view accept, const Readiness& ready,
                  const std::function<std::string(MetricsFormat)>& metrics) {
  constexpr const char* kText = "text/plain; charset=utf-8";
  if (path == "/metrics" && wants_openmetrics(accept))
    return {200, "application/openmetrics-text; version=1.0.0; charset=utf-8",
            metrics(MetricsFormat::openmetrics)};
  if (path == "/metrics")
    return {200, "text/plain; version=0.0.4; charset=utf-8", metrics(MetricsFormat::prometheus)};
  if (path == "/healthz") return {200, kText, "the exporter answers\n"};
  if (path == "/readyz") return {ready.ready ? 200 : 503, kText, ready.line + "\n"};
  if (path == "/")
    return {200, kText, "gpuready exporter: " + ready.line + "\n\n/metrics\n/readyz\n/healthz\n"};
  return {404, kText, "not found: /metrics has the metrics\n"};
}

}  // namespace gpuready::exporter
