// What the exporter answers: the page of metrics, and whether they can be relied on. Pure.
#pragma once

#include <functional>
#include <string>

#include "exporter/http_request.h"
#include "exporter/report/observed.h"
#include "report/metrics/exposition.h"

namespace gpuready::exporter {

struct Moment {
  double now = 0;   // on the clock of Observed
  Present present;  // for the kept results
};
struct PageOptions {
  MetricsFormat format = MetricsFormat::prometheus;
  bool dcgm_names = false;  // also metrics under the names of NVIDIA's dcgm-exporter
};
std::string page(const Observed& seen, const Moment& moment, const PageOptions& options = {});

// One line, and whether the latest sample is complete and recent enough.
struct Readiness {
  bool ready = false;
  std::string line;
};
Readiness readiness(const Observed& seen, double now, double interval_seconds);

// What is at a path; `metrics` renders the page of metrics.
HttpAnswer answer(std::string_view path, std::string_view accept, const Readiness& ready,
                  const std::function<std::string(MetricsFormat)>& metrics);

// NVIDIA's GPUs under DCGM's names. `last_xid`: absent where the kernel log is not readable.
void add_dcgm(const Gpu& gpu, int number, const std::string& host_name, bool answers,
              std::optional<int> last_xid, Exposition& out);

}  // namespace gpuready::exporter
