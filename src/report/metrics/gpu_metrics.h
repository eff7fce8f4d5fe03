// Metrics of a GPU. Every exposition, `--prom` and the exporter, uses these names and HELP texts.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "report/metrics/exposition.h"
#include "report/report.h"

namespace gpuready {

// Who a sample is about; a label that is not known stays empty, which Prometheus takes for absent.
Labels gpu_labels(const Gpu& gpu);
using LabelsOf = std::function<Labels(const Gpu&)>;

// The run and its exit code, which may be worth something else by now.
void add_run(const Report& report, Exit exit, Exposition& out);
void add_gpu_info(const Gpu& gpu, const Labels& labels, Exposition& out);
void add_gpu_status(std::string_view status, const Labels& labels, Exposition& out);
void add_gpu_ready(bool ready, const Labels& labels, Exposition& out);
void add_gpu_obligations(std::span<const Obligation> owed, const Labels& labels, Exposition& out);
// What its sensors show now, then what its counters have counted.
void add_gpu_state(const Gpu& gpu, const Labels& labels, Exposition& out);
void add_gpu_errors(const Gpu& gpu, const Labels& labels, Exposition& out);
void add_findings(const Report& report, const LabelsOf& labels_of, Exposition& out);

}  // namespace gpuready
