#include "ternary/device/choose.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <tuple>

#include "base/text.h"
#include "base/units.h"
#include "ternary/shape.h"

namespace gpuready::ternary {
namespace {

struct TargetName {
  TargetKind kind;
  std::string_view name;
};
constexpr TargetName kTargetNames[] = {{TargetKind::automatic, "auto"},
                                       {TargetKind::cpu, "cpu"},
                                       {TargetKind::cuda, "cuda"},
                                       {TargetKind::vulkan, "vulkan"}};

bool kind_fits(const Target& target, BackendKind kind) {
  switch (target.kind) {
    case TargetKind::automatic:
      return true;
    case TargetKind::cpu:
      return false;
    case TargetKind::cuda:
      return kind == BackendKind::cuda;
    case TargetKind::vulkan:
      return kind == BackendKind::vulkan;
  }
  return false;
}

bool named(const Target& target, const GpuCandidate& gpu) {
  if (!target.id.empty() && equals_ignore_case(target.id, gpu.id)) return true;
  return !gpu.software && (target.id.empty() || target.id == std::to_string(gpu.index));
}

// The instructions that the kernels have variants for, the newest first: what is between two steps
// is not a reason to prefer a GPU.
int capability_step(const GpuCandidate& gpu) {
  constexpr int kSteps[] = {90, 80, 61, 50};
  const int capability = gpu.compute_capability.value_or(0);
  int step = static_cast<int>(std::size(kSteps));
  for (const int least : kSteps) {
    if (capability >= least) return step;
    --step;
  }
  return 0;
}

// Which to open first; a context takes memory and time, so that not all are opened.
bool before(const GpuCandidate* a, const GpuCandidate* b) {
  const auto key = [](const GpuCandidate& gpu) {
    return std::tuple(gpu.kind == BackendKind::cuda, capability_step(gpu), -gpu.index);
  };
  return key(*a) > key(*b);
}

struct Opened {
  const GpuCandidate* gpu = nullptr;
  std::unique_ptr<Backend> backend;
  BackendMemory memory;
};

// Has what is expected, and is not mostly in use by others: no need to look further.
bool serves_well(const Opened& opened, std::uint64_t needed_bytes) {
  return opened.memory.free_bytes >= needed_bytes &&
         opened.memory.free_bytes >= opened.memory.total_bytes / 4 * 3;
}

}  // namespace

std::string_view v0::to_string(TargetKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(kTargetNames) ? kTargetNames[index].name : "unknown";
}

std::string v0::to_string(const Target& target) {
  std::string text(to_string(target.kind));
  if (!target.id.empty()) text += ":" + target.id;
  return text;
}

Result<Target> v0::parse_target(std::string_view text) {
  const auto colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  for (const TargetName& entry : kTargetNames) {
    if (!equals_ignore_case(entry.name, kind)) continue;
    Target target{entry.kind, {}};
    if (colon == text.npos) return target;
    const bool gpu = entry.kind == TargetKind::cuda || entry.kind == TargetKind::vulkan;
    if (!gpu || colon + 1 == text.size()) break;
    target.id = printable(text.substr(colon + 1));
    return target;
  }
  return fail(ErrorKind::bad_input,
              "\"" + printable(text) +
                  "\" names no device: auto, cpu, cuda, cuda:<index or UUID>, vulkan or "
                  "vulkan:<index or UUID>");
}

std::optional<std::string> faked_by() {
  for (const char* variable : {"GPUREADY_FAKE", "BITNET_GPU_FAKE"})
    if (std::getenv(variable) != nullptr) return variable;
  return std::nullopt;
}

Choice choose_gpu(const Target& target, const Discovery& found, std::uint64_t needed_bytes) {
  Choice choice;
  if (target.kind == TargetKind::cpu) return choice;
  const bool demanded = target.kind != TargetKind::automatic;
  std::vector<const GpuCandidate*> wanted;
  for (const GpuCandidate& gpu : found.gpus) {
    if (!kind_fits(target, gpu.kind)) continue;
    if (named(target, gpu)) {
      wanted.push_back(&gpu);
    } else if (demanded && gpu.software) {
      choice.fallbacks.push_back(gpu.name + " is software, and is taken only by its UUID");
    }
  }
  std::sort(wanted.begin(), wanted.end(), before);
  std::vector<Opened> opened;
  for (const GpuCandidate* gpu : wanted) {
    // A Vulkan GPU is tried only where CUDA gave nothing: on NVIDIA's they are the same.
    if (!opened.empty() && opened.back().gpu->kind != gpu->kind) break;
    const auto refused = [&](const Error& error) {
      choice.fallbacks.push_back(std::string(to_string(gpu->kind)) + ":" + gpu->id + ": " +
                                 error.message);
      if (!choice.error) choice.error = error;
    };
    auto backend = gpu->open();
    if (!backend) {
      refused(backend.error());
      continue;
    }
    const auto memory = (*backend)->memory();
    if (!memory) {
      refused(memory.error());
      continue;
    }
    opened.push_back({gpu, std::move(*backend), *memory});
    if (serves_well(opened.back(), needed_bytes)) break;
  }
  if (!opened.empty()) {
    Opened& best =
        serves_well(opened.back(), needed_bytes)
            ? opened.back()
            : *std::max_element(opened.begin(), opened.end(), [](const Opened& a, const Opened& b) {
                return a.memory.free_bytes < b.memory.free_bytes;
              });
    if (demanded || best.memory.free_bytes >= needed_bytes) {
      if (!demanded)
        for (const Error& failure : found.failures) choice.fallbacks.push_back(failure.message);
      choice.error.reset();
      choice.gpu = std::move(best.backend);
      return choice;
    }
    choice.fallbacks.push_back("no GPU has the " + format_bytes(needed_bytes) +
                               " that are expected: the most is " +
                               format_bytes(best.memory.free_bytes) + " of " + best.gpu->name);
    choice.error = Error{ErrorKind::device_memory, choice.fallbacks.back()};
    return choice;
  }
  if (!demanded) {
    for (const Error& failure : found.failures) {
      choice.fallbacks.push_back(failure.message);
      if (!choice.error) choice.error = failure;
    }
  } else {
    choice.fallbacks.insert(choice.fallbacks.end(), found.reasons.begin(), found.reasons.end());
    if (!choice.error) {
      std::string why;
      for (const std::string& reason : choice.fallbacks)
        why += (why.empty() ? ": " : "; ") + reason;
      choice.error = Error{ErrorKind::no_device, to_string(target) + " is not here" + why};
      if (choice.fallbacks.empty()) choice.fallbacks.push_back(choice.error->message);
    }
  }
  return choice;
}

}  // namespace gpuready::ternary
