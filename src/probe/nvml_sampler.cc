#include "probe/nvml_sampler.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/clock.h"
#include "base/vendor_codes.h"
#include "probe/ask.h"
#include "probe/nvml_adapters.h"
#include "probe/nvml_queries.h"

namespace gpuready::nvml {
namespace {

using Merge = ThinnedSeries::Merge;

struct Series {
  const char* name;
  const char* unit;
  Merge merge = Merge::mean;
};
// In the order in which they are reported.
enum SeriesIndex : std::size_t {
  kSmClock,
  kMemoryClock,
  kApplicationClock,
  kPower,
  kGpuTemperature,
  kMemoryTemperature,
  kUtilization,
  kMemoryUsed,
  kProcesses,
  kLinkGeneration,
  kEccCorrected,
  kEccUncorrected,
  kPcieReplays,
  kAnyEvent,
  kFirstEvent,
};
constexpr Series kSeries[] = {
    {"sm_clock", "MHz"},
    {"memory_clock", "MHz"},
    {"application_clock", "MHz"},
    {"power", "W"},
    {"gpu_temperature", "C"},
    {"memory_temperature", "C"},
    {"utilization", "1"},
    {"memory_used", "B"},
    {"processes", "1"},
    {"link_generation", "1"},
    {"ecc_corrected", "1", Merge::last},
    {"ecc_uncorrected", "1", Merge::last},
    {"pcie_replays", "1", Merge::last},
    // Shares of the time in which something held the clocks back.
    {"clock_event_any", "1"},
    {"clock_event_application_clocks", "1"},
    {"clock_event_sw_power_cap", "1"},
    {"clock_event_hw_slowdown", "1"},
    {"clock_event_sync_boost", "1"},
    {"clock_event_sw_thermal_slowdown", "1"},
    {"clock_event_hw_thermal_slowdown", "1"},
    {"clock_event_hw_power_brake", "1"},
    {"clock_event_display_clocks", "1"},
};
// nvmlClocksEventReasons of NVML's API reference: the last eight series are bits 1 to 8. Bit 0 says
// that the GPU is idle: then nothing is held back.
constexpr unsigned kFirstEventBit = 1, kEventBits = 8;
static_assert(std::size(kSeries) == kFirstEvent + kEventBits);

struct Quantity {
  std::array<Alternative, 2> alternatives;
  std::size_t series;
  bool counter = false;
  const char* argument = "";
  int parameter = 0;
  double scale = 1;
};
constexpr std::size_t kNoSeries = std::size(kSeries);  // the clock events: several series
// Parameters as in nvml_queries.cc.
constexpr Quantity kQuantities[] = {
    {{{{"nvmlDeviceGetCurrentClocksEventReasons", number64},
       {"nvmlDeviceGetCurrentClocksThrottleReasons", number64}}},
     kNoSeries},
    {{{{"nvmlDeviceGetClockInfo", number_of}}}, kSmClock, false, "sm", 1},
    {{{{"nvmlDeviceGetClockInfo", number_of}}}, kMemoryClock, false, "mem", 2},
    {{{{"nvmlDeviceGetApplicationsClock", number_of}}}, kApplicationClock, true, "graphics", 0},
    {{{{"nvmlDeviceGetTemperatureV", temperature_v1}, {"nvmlDeviceGetTemperature", number_of}}},
     kGpuTemperature},
    {{{{"nvmlDeviceGetUtilizationRates", utilization}}}, kUtilization, false, "", 0, 0.01},
    {{{{"nvmlDeviceGetMemoryInfo_v2", memory_v2}, {"nvmlDeviceGetMemoryInfo", memory}}},
     kMemoryUsed},
    {{{{"nvmlDeviceGetComputeRunningProcesses_v3", process_count},
       {"nvmlDeviceGetComputeRunningProcesses", process_count}}},
     kProcesses},
    {{{{"nvmlDeviceGetCurrPcieLinkGeneration", number}}}, kLinkGeneration},
    {{{{"nvmlDeviceGetPowerUsage", number}}}, kPower, false, "", 0, 0.001},
    {{{{"nvmlDeviceGetTotalEccErrors", ecc_total}}},
     kEccCorrected,
     true,
     "corrected,volatile",
     ecc_counter(0, 0)},
    {{{{"nvmlDeviceGetTotalEccErrors", ecc_total}}},
     kEccUncorrected,
     true,
     "uncorrected,volatile",
     ecc_counter(1, 0)},
    {{{{"nvmlDeviceGetPcieReplayCounter", number}}}, kPcieReplays, true},
};
// Field values: memory temperature; power now, where nvmlDeviceGetPowerUsage may be a mean.
constexpr std::uint32_t kMemoryTemperatureField = nvml_field::kMemoryTemperature,
                        kPowerNowField = nvml_field::kPowerNow;
constexpr int kFailuresToGiveUp = 3;  // in a row: a GPU that is lost, say

// The way of asking is not known here, or the GPU has no such thing: no use in asking again.
bool final(int code) {
  return code == kFunctionNotFound || code == kArgumentVersionMismatch ||
         code == kInvalidArgument || code == kNotSupported || code == kNoPermission;
}

std::optional<double> number_in(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (const auto used = get_double(value, "used")) return used;  // of memory()
  return get_double(value, "gpu");                               // of utilization()
}

// Enough for any of the units, and short in a document.
double rounded(double value) { return std::round(value * 1000) / 1000; }
double rounded_ms(double value) { return std::round(value * 10) / 10; }

}  // namespace

Sampler::Sampler(const ProbeLibrary& library, std::vector<SampledGpu> gpus)
    : library_(library),
      gpus_(std::move(gpus)),
      asking_(gpus_.size(), std::vector<Asking>(std::size(kQuantities))),
      fields_(gpus_.size()),
      field_ids_(gpus_.size(), {kMemoryTemperatureField, kPowerNowField}) {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    auto& row = stored_.emplace_back();
    for (const Series& series : kSeries) row.emplace_back(series.merge);
  }
}

void Sampler::take(bool counters) {
  for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    ask_fields(gpu);
    for (std::size_t i = 0; i < std::size(kQuantities); ++i) {
      const bool told =  // by a field, which is what it is now
          kQuantities[i].series == kPower && !fields_[gpu].given_up &&
          std::ranges::find(field_ids_[gpu], kPowerNowField) != field_ids_[gpu].end();
      if (!told && (counters || !kQuantities[i].counter)) ask_quantity(gpu, i);
    }
  }
}

void Sampler::ask_quantity(std::size_t gpu, std::size_t index) {
  Asking& asking = asking_[gpu][index];
  const Quantity& quantity = kQuantities[index];
  while (!asking.given_up) {
    const Alternative& alternative = quantity.alternatives[asking.alternative];
    void* function = library_.symbol(alternative.symbol);
    Json value;
    const int code = function == nullptr ? static_cast<int>(kFunctionNotFound)
                                         : alternative.adapter(function, gpus_[gpu].handle,
                                                               quantity.parameter, value);
    if (code == kSuccess) {
      asking.failures = 0;
      const auto number = number_in(value);
      if (!number) return;
      if (quantity.series == kNoSeries)
        add_events(gpu, value.get<std::uint64_t>());
      else
        add(gpu, quantity.series, *number * quantity.scale);
      return;
    }
    if (final(code) && asking.alternative + 1 < quantity.alternatives.size() &&
        quantity.alternatives[asking.alternative + 1].symbol != nullptr) {
      ++asking.alternative;
      continue;
    }
    if (!final(code) && ++asking.failures < kFailuresToGiveUp) return;
    asking.given_up = true;
    refuse(call_key(alternative.symbol, gpus_[gpu].id, quantity.argument), code);
  }
}

void Sampler::ask_fields(std::size_t gpu) {
  constexpr const char* kSymbol = "nvmlDeviceGetFieldValues";
  Asking& asking = fields_[gpu];
  auto& ids = field_ids_[gpu];
  if (asking.given_up || ids.empty()) return;
  auto* function = library_.function<int(Device, int, FieldValue*)>(kSymbol);
  std::vector<FieldValue> fields(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) fields[i].field = ids[i];
  const int code = function == nullptr
                       ? static_cast<int>(kFunctionNotFound)
                       : function(gpus_[gpu].handle, static_cast<int>(ids.size()), fields.data());
  if (code != kSuccess) {
    asking.given_up = final(code) || ++asking.failures >= kFailuresToGiveUp;
    if (asking.given_up) refuse(call_key(kSymbol, gpus_[gpu].id), code);
    return;
  }
  asking.failures = 0;
  for (const FieldValue& field : fields) {
    const bool power = field.field == kPowerNowField;
    // Of these two, the reference says unsigned int; zero is not an answer for either.
    if (field.code == kSuccess && field.type == kU32 && field.value.u32 != 0)
      add(gpu, power ? kPower : kMemoryTemperature,
          power ? field.value.u32 * 0.001 : static_cast<double>(field.value.u32));
    else if (field.code == kSuccess || final(field.code))
      std::erase(ids, field.field);
  }
}

void Sampler::add_events(std::size_t gpu, std::uint64_t bits) {
  const std::uint64_t events = bits >> kFirstEventBit & ((1u << kEventBits) - 1);
  add(gpu, kAnyEvent, events != 0);
  for (unsigned i = 0; i < kEventBits; ++i)
    add(gpu, kFirstEvent + i, static_cast<double>(events >> i & 1));
}

void Sampler::add(std::size_t gpu, std::size_t series, double value) {
  const double now = monotonic_ms();
  const std::lock_guard lock(mutex_);
  stored_[gpu][series].add(now, value);
}

void Sampler::refuse(std::string key, int code) {
  const std::lock_guard lock(mutex_);
  refusals_.emplace_back(std::move(key), code);
}

std::vector<std::pair<std::string, Json>> Sampler::series() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, Json>> out;
  for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu)
    for (std::size_t i = 0; i < std::size(kSeries); ++i) {
      const ThinnedSeries& stored = stored_[gpu][i];
      // An event that never happened says no more than that "any" is 0.
      if (stored.taken() == 0 || (i >= kFirstEvent && stored.max() == 0)) continue;
      Json doc = Json::object();
      put(doc, "pci", gpus_[gpu].pci);
      put(doc, "uuid", gpus_[gpu].uuid);
      doc["name"] = kSeries[i].name;
      doc["unit"] = kSeries[i].unit;
      doc["taken"] = stored.taken();
      doc["min"] = rounded(stored.min());
      doc["mean"] = rounded(stored.mean());
      doc["max"] = rounded(stored.max());
      doc["last"] = rounded(stored.last());
      Json t_ms = Json::array(), value = Json::array();
      for (const auto& point : stored.points()) {
        t_ms.push_back(rounded_ms(point.t_ms));
        value.push_back(rounded(point.value));
      }
      doc["t_ms"] = std::move(t_ms);
      doc["value"] = std::move(value);
      out.emplace_back(call_key("series", gpus_[gpu].id, kSeries[i].name), std::move(doc));
    }
  return out;
}

std::vector<std::pair<std::string, int>> Sampler::refusals() const {
  const std::lock_guard lock(mutex_);
  return refusals_;
}

}  // namespace gpuready::nvml
