// What else uses the machine while a run is made.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/run_record.h"
#include "gpuready/machine.h"
#include "host/host.h"

namespace gpuready::bench {

// Of the time of these CPUs between two readings of /proc/stat (proc_stat(5)), the percentage that
// went neither idle nor to this program and its children, which took `own_s`. Time that other
// guests of a virtual machine's host took (steal) counts. Nothing where a CPU is missing.
std::optional<double> others_cpu_percent(std::string_view before, std::string_view after,
                                         std::span<const unsigned> cpus, double own_s,
                                         double ticks_per_s);

// Begins when it is made.
class LoadWatch {
 public:
  // `gpu`: the run's, as inspected just now; null where it uses none.
  LoadWatch(Host& host, const Gpu* gpu);
  Load until_now() const;

 private:
  Host& host_;
  std::vector<unsigned> cpus_;
  std::string stat_;
  double own_s_;
  Load load_;  // the GPU's part
};

}  // namespace gpuready::bench
