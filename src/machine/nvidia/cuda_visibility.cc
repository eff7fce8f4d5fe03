#include "machine/nvidia/cuda_visibility.h"

#include <algorithm>

#include "base/text.h"

namespace gpuready {
namespace {

constexpr int kNone = -1, kAmbiguous = -2;

struct Match {
  int gpu = kNone;  // position, or kNone or kAmbiguous
  std::optional<std::string> instance;
};

enum class Form { number, gpu, instance };
Form form_of(std::string_view entry) {
  if (entry.starts_with("MIG-")) return Form::instance;
  if (entry.starts_with("GPU-")) return Form::gpu;
  return Form::number;
}

// As strtol reads it: leading digits count ("1x" is 1); anything else is not a number.
std::optional<std::int64_t> leading_number(std::string_view entry) {
  entry = trim(entry);
  const bool negative = entry.starts_with('-');
  if (negative || entry.starts_with('+')) entry.remove_prefix(1);
  const auto end = std::min(entry.find_first_not_of("0123456789"), entry.size());
  const auto value = parse_int(entry.substr(0, end));
  if (!value) return std::nullopt;
  return negative ? -*value : *value;
}

bool starts_with_ignore_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && equals_ignore_case(text.substr(0, prefix.size()), prefix);
}

// An instance stands for a GPU with MIG on: CUDA gives a program the first one.
Match match_of(const std::vector<CudaCandidate>& gpus, std::size_t position) {
  Match match{static_cast<int>(position), std::nullopt};
  if (gpus[position].mig) {
    if (gpus[position].instances.empty()) return {};
    match.instance = gpus[position].instances.front();
  }
  return match;
}

Match match_gpu_uuid(std::string_view entry, const std::vector<CudaCandidate>& gpus) {
  Match found;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (!starts_with_ignore_case(gpus[i].uuid, entry)) continue;
    if (found.gpu != kNone) return {kAmbiguous, std::nullopt};
    found = match_of(gpus, i);
  }
  return found;
}

// "MIG-<uuid>", or before release 470 "MIG-GPU-<uuid>/<gpu instance>/<compute instance>".
Match match_instance(std::string_view entry, const std::vector<CudaCandidate>& gpus) {
  Match found;
  const auto older = after_prefix(entry, "MIG-GPU-");
  const auto slash = entry.find('/');
  for (std::size_t i = 0; i < gpus.size(); ++i)
    for (std::size_t k = 0; k < gpus[i].instances.size(); ++k) {
      bool same = false;
      if (older && slash != std::string_view::npos)
        same = starts_with_ignore_case(gpus[i].uuid, entry.substr(4, slash - 4)) &&
               k < gpus[i].instance_ids.size() &&
               gpus[i].instance_ids[k] == entry.substr(slash + 1);
      else
        same = starts_with_ignore_case(gpus[i].instances[k], entry);
      if (!same) continue;
      if (found.gpu != kNone) return {kAmbiguous, std::nullopt};
      found = {static_cast<int>(i), gpus[i].instances[k]};
    }
  return found;
}

Match match_number(std::string_view entry, const std::vector<CudaCandidate>& gpus) {
  const auto number = leading_number(entry);
  if (!number || *number < 0 || *number >= static_cast<std::int64_t>(gpus.size())) return {};
  return match_of(gpus, static_cast<std::size_t>(*number));
}

Match match_entry(std::string_view entry, Form form, const std::vector<CudaCandidate>& gpus) {
  switch (form) {
    case Form::number:
      return match_number(entry, gpus);
    case Form::gpu:
      return match_gpu_uuid(entry, gpus);
    case Form::instance:
      return match_instance(entry, gpus);
  }
  return {};
}

// Entries are separated by commas; empty ones are kept, because they end the list.
std::vector<std::string_view> entries_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (;;) {
    const auto comma = text.find(',');
    out.push_back(trim(text.substr(0, comma)));
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

CudaVisibility everything(const std::vector<CudaCandidate>& gpus) {
  CudaVisibility result;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const auto match = match_of(gpus, i);
    if (match.gpu == kNone) continue;
    result.visible.push_back(match.gpu);
    if (match.instance) result.visible_instances.push_back(*match.instance);
  }
  return result;
}

std::string why_not(std::string_view entry, Form form, int gpu) {
  if (entry.empty()) return "an empty entry ends the list";
  if (gpu == kAmbiguous) return "more than one device's UUID begins so";
  if (form == Form::number)
    return leading_number(entry) ? "there is no device of this number" : "it is not a device";
  return "no device has this UUID";
}

void stop(CudaVisibility& result, std::string_view entry, std::string reason) {
  result.stopped_at = printable(entry);
  result.reason = std::move(reason);
}

}  // namespace

CudaVisibility cuda_visibility(const std::optional<std::string>& variable,
                               const std::optional<std::string>& order,
                               const std::vector<CudaCandidate>& gpus, bool same_model) {
  if (!variable) return everything(gpus);
  CudaVisibility result;
  result.set = true;
  if (trim(*variable).empty()) {
    result.reason = "the variable is empty, which hides every GPU";
    return result;
  }
  const auto entries = entries_of(*variable);
  const Form form = form_of(entries.front());
  const bool by_bus = order && equals_ignore_case(trim(*order), "PCI_BUS_ID");
  if (form == Form::number) result.order_known = by_bus || same_model || gpus.size() < 2;

  for (const auto entry : entries) {
    // The first entry decides what the list is made of; another kind ends it.
    const auto match = form_of(entry) == form ? match_entry(entry, form, gpus) : Match{};
    if (match.gpu < 0) {
      stop(result, entry, why_not(entry, form_of(entry), match.gpu));
      return result;
    }
    const bool repeated =
        match.instance ? std::ranges::find(result.visible_instances, *match.instance) !=
                             result.visible_instances.end()
                       : std::ranges::find(result.visible, match.gpu) != result.visible.end();
    if (repeated) {  // the driver then shows none at all
      result.visible.clear();
      result.visible_instances.clear();
      stop(result, entry, "it is named twice, which hides every GPU");
      return result;
    }
    if (match.instance) result.visible_instances.push_back(*match.instance);
    if (std::ranges::find(result.visible, match.gpu) == result.visible.end())
      result.visible.push_back(match.gpu);
  }
  return result;
}

CudaVisibility cuda_visibility(const Machine& machine) {
  std::vector<CudaCandidate> candidates;
  std::vector<int> indices;
  bool same_model = true;
  std::optional<std::string> model;
  for (const auto& gpu : machine.gpus) {
    if (gpu.vendor != Vendor::nvidia || gpu.excluded == true || gpu.faked) continue;
    // The driver numbers those that work, and that this container was given.
    if (machine.nvidia.nvml_device_count.value_or(0) > 0 && !gpu.nvml_index) continue;
    CudaCandidate candidate;
    candidate.uuid = gpu.uuid.value_or("");
    candidate.mig = gpu.mig_enabled.value_or(false);
    for (const auto& instance : gpu.mig) {
      candidate.instances.push_back(instance.uuid.value_or(""));
      candidate.instance_ids.push_back(std::to_string(instance.gpu_instance_id.value_or(-1)) + "/" +
                                       std::to_string(instance.compute_instance_id.value_or(-1)));
    }
    candidates.push_back(std::move(candidate));
    indices.push_back(gpu.index);
    if (model && *model != gpu.name) same_model = false;
    model = gpu.name;
  }
  auto result = cuda_visibility(machine.visibility.cuda_visible_devices,
                                machine.visibility.cuda_device_order, candidates, same_model);
  for (auto& position : result.visible) position = indices[static_cast<std::size_t>(position)];
  return result;
}

}  // namespace gpuready
