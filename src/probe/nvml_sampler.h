// Samples GPUs through NVML into series that stay small however long it goes on.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "probe/library.h"
#include "probe/nvml_types.h"
#include "probe/thinned_series.h"

namespace gpuready::nvml {

struct SampledGpu {
  Device handle = nullptr;
  std::string id;         // NVML's index, as calls' keys name it
  std::string pci, uuid;  // told with each series; empty when NVML did not tell
};

class Sampler {
 public:
  Sampler(const ProbeLibrary& library, std::vector<SampledGpu> gpus);

  // Asks every GPU once; `counters`: the error counters, too. Only one thread calls it; what
  // follows may be called from another meanwhile, also while a call into NVML hangs.
  void take(bool counters);

  // Key and value: "series(0,power)" and {"pci","uuid","name","unit","taken","min","mean","max",
  // "last","t_ms":[...],"value":[...]}, where t_ms is of the monotonic clock.
  std::vector<std::pair<std::string, Json>> series() const;
  // Calls that NVML refused, with its code, once each.
  std::vector<std::pair<std::string, int>> refusals() const;

 private:
  // How far the asking for one quantity of one GPU has come.
  struct Asking {
    std::size_t alternative = 0;  // the one that answers, or is tried next
    int failures = 0;             // in a row
    bool given_up = false;
  };
  void ask_quantity(std::size_t gpu, std::size_t quantity);
  void ask_fields(std::size_t gpu);
  void add(std::size_t gpu, std::size_t series, double value);
  void add_events(std::size_t gpu, std::uint64_t bits);
  void refuse(std::string key, int code);

  const ProbeLibrary& library_;
  const std::vector<SampledGpu> gpus_;
  std::vector<std::vector<Asking>> asking_;            // by GPU and quantity
  std::vector<Asking> fields_;                         // by GPU: nvmlDeviceGetFieldValues
  std::vector<std::vector<std::uint32_t>> field_ids_;  // by GPU: those that it answers
  mutable std::mutex mutex_;  // of what follows; never held during a call into NVML
  std::vector<std::vector<ThinnedSeries>> stored_;  // by GPU and series
  std::vector<std::pair<std::string, int>> refusals_;
};

}  // namespace gpuready::nvml
