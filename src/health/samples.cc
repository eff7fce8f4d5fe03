#include "health/samples.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/vendor_codes.h"
#include "machine/nvidia/nvml_errors.h"
#include "machine/sources.h"
#include "value/about.h"

namespace gpuready {
namespace {

constexpr double kIntervalMs = 100;
constexpr std::size_t kMostSeries = 4096, kMostPoints = 100'000, kMostXids = 1000;

const Gpu* gpu_named(const Machine& machine, const Json& doc) {
  if (const auto uuid = get_string(doc, "uuid"))
    if (const Gpu* gpu = machine.find_gpu_by_uuid(*uuid)) return gpu;
  const auto address = parse_pci_address(get_string(doc, "pci").value_or(""));
  return address ? machine.find_gpu(*address) : nullptr;
}

bool ran_on(const std::vector<Verdict>& verdicts, const Gpu& gpu) {
  return std::any_of(verdicts.begin(), verdicts.end(), [&](const Verdict& verdict) {
    return verdict.started_ms && is_about(verdict, gpu);
  });
}

bool read_numbers(const Json& list, std::vector<double>& out) {
  if (!list.is_array() || list.size() > kMostPoints) return false;
  out.reserve(list.size());
  for (const Json& item : list) {
    if (!item.is_number()) return false;
    out.push_back(item.get<double>());
  }
  return true;
}

std::optional<SampleSeries> series_from(const Json& doc, double began_ms) {
  SampleSeries out;
  const auto name = get_string(doc, "name"), unit = get_string(doc, "unit");
  const auto taken = get_uint(doc, "taken");
  const auto min = get_double(doc, "min"), mean = get_double(doc, "mean"),
             max = get_double(doc, "max"), last = get_double(doc, "last");
  if (!name || !unit || !taken || !min || !mean || !max || !last) return std::nullopt;
  if (!read_numbers(member(doc, "t_ms"), out.t_ms) ||
      !read_numbers(member(doc, "value"), out.value) || out.t_ms.size() != out.value.size() ||
      out.value.empty())
    return std::nullopt;
  out.name = printable(*name);
  out.unit = printable(*unit);
  out.taken = *taken;
  out.min = *min, out.mean = *mean, out.max = *max, out.last = *last;
  for (double& t : out.t_ms) t -= began_ms;
  if (!std::is_sorted(out.t_ms.begin(), out.t_ms.end())) return std::nullopt;
  return out;
}

// What a refused call would have told; nothing where that is not worth a word: hardware that has no
// such sensor, or a driver that is too old for it.
std::string_view quantity_of(std::string_view call) {
  struct Known {
    std::string_view symbol, quantity;
  };
  constexpr Known kKnown[] = {
      {"nvmlDeviceGetClockInfo", "clocks"},
      {"nvmlDeviceGetPowerUsage", "power"},
      {"nvmlDeviceGetTemperature", "the temperature"},
      {"nvmlDeviceGetCurrentClocks", "what holds the clocks back"},
      {"nvmlDeviceGetUtilizationRates", "utilization"},
      {"nvmlDeviceGetFieldValues", "the memory's temperature"},
      {"nvmlDeviceGetTotalEccErrors", "ECC errors"},
      {"nvmlDeviceGetPcieReplayCounter", "PCIe replays"},
  };
  for (const Known& known : kKnown)
    if (call.starts_with(known.symbol)) return known.quantity;
  return {};
}

void add_refusal(std::string_view call, const ProbeCall& answer, Samples& out) {
  const auto quantity = quantity_of(call);
  if (quantity.empty() || answer.missing || answer.ok() ||
      answer.code == nvml_code::kNotSupported || answer.code == nvml_code::kFunctionNotFound)
    return;
  const auto text = fmt::format("{}: {} ({})", quantity, nvml_error_text(answer.code),
                                nvml_error_name(answer.code));
  if (std::find(out.absent.begin(), out.absent.end(), text) == out.absent.end())
    out.absent.push_back(text);
}

// Why there is not one series.
std::string why_nothing(const ProbeDocument& heard) {
  switch (heard.outcome) {
    case ProbeOutcome::no_library:
      return "NVML is not here: " + heard.library_error;
    case ProbeOutcome::completed:
      break;
    default:
      return fmt::format(
          "the child that samples {}{}{}",
          heard.outcome == ProbeOutcome::failed_to_start ? "did not start" : "was stopped",
          heard.stopped_in.empty() ? "" : " in ", heard.stopped_in);
  }
  for (const char* call : {"nvmlInit_v2()", "nvmlDeviceGetCount_v2()"})
    if (const ProbeCall* answer = heard.find(call); answer && !answer->ok())
      return fmt::format("{}: {} ({})", call, nvml_error_text(answer->code),
                         nvml_error_name(answer->code));
  if (!heard.find("nvmlInit_v2()")) return "NVML did not answer nvmlInit_v2()";
  return "NVML reported nothing about the GPUs that were tested";
}

}  // namespace

Samples samples_from(const ProbeDocument& heard, const Machine& machine,
                     const std::vector<Verdict>& verdicts, Clock::time_point began) {
  const double began_ms =
      std::chrono::duration<double, std::milli>(began.time_since_epoch()).count();
  Samples out;
  out.interval_ms = kIntervalMs;
  const auto ran = [&](const Gpu& gpu) { return ran_on(verdicts, gpu); };
  const bool anything_ran = std::any_of(machine.gpus.begin(), machine.gpus.end(), ran);
  for (const auto& [call, answer] : heard.calls) {
    const Gpu* gpu = gpu_named(machine, answer.value);
    if (call.starts_with("series(")) {
      auto series = series_from(answer.value, began_ms);
      if (!series || !gpu || !ran(*gpu) || out.series.size() >= kMostSeries) continue;
      series->gpu = gpu->index;
      series->uuid = gpu->uuid;
      out.series.push_back(std::move(*series));
    } else if (call.starts_with("nvmlEventSetWait_v2(")) {
      const auto xid = get_uint(answer.value, "xid");
      const auto at_ms = get_double(answer.value, "at_ms");
      if (answer.ok() && xid && at_ms && out.sampled_xids.size() < kMostXids)
        out.sampled_xids.push_back(
            {gpu ? std::optional(gpu->index) : std::nullopt, *at_ms - began_ms, *xid});
    } else {
      add_refusal(call, answer, out);
    }
  }
  std::sort(out.series.begin(), out.series.end(), [](const auto& a, const auto& b) {
    return std::pair(*a.gpu, std::string_view(a.name)) <
           std::pair(*b.gpu, std::string_view(b.name));
  });
  std::sort(out.sampled_xids.begin(), out.sampled_xids.end(),
            [](const auto& a, const auto& b) { return a.at_ms < b.at_ms; });
  if (out.series.empty() && anything_ran) out.absent.insert(out.absent.begin(), why_nothing(heard));
  return out;
}

std::optional<Samples> not_sampled(const Machine& machine) {
  const bool gpus = std::any_of(machine.gpus.begin(), machine.gpus.end(),
                                [](const Gpu& gpu) { return !gpu.faked; });
  if (!gpus || machine.source != "live" || !machine.fakes.empty()) return std::nullopt;
  Samples out;
  const auto& start = machine.nvidia.nvml_start;
  const bool nvidia = std::any_of(machine.gpus.begin(), machine.gpus.end(),
                                  [](const Gpu& gpu) { return gpu.vendor == Vendor::nvidia; });
  if (!nvidia)
    out.absent.push_back("sampling needs NVML, which is for NVIDIA GPUs");
  else if (start && !start->ok())
    out.absent.push_back("NVML did not start: " + start->name);
  else
    out.absent.push_back("NVML was not reached: " +
                         machine.nvidia.nvml_outcome.value_or("it was not asked"));
  return out;
}

}  // namespace gpuready
