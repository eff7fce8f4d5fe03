// Words for the values that every renderer shows.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "report/obligations.h"
#include "report/summary.h"

namespace gpuready {
namespace {

struct StateWords {
  GpuState state;
  std::string_view text;
  Tone tone;
};
constexpr std::array kStates{
    StateWords{GpuState::ready, "ready", Tone::good},
    StateWords{GpuState::attention, "ready, warning", Tone::warn},
    StateWords{GpuState::degraded, "degraded", Tone::warn},
    StateWords{GpuState::in_part, "ready in part", Tone::good},
    StateWords{GpuState::not_ready, "not ready", Tone::bad},
    StateWords{GpuState::unknown, "unknown", Tone::warn},
    StateWords{GpuState::not_tested, "not tested", Tone::warn},
    StateWords{GpuState::in_use, "in use", Tone::warn},
    StateWords{GpuState::suspended, "suspended", Tone::neutral},
    StateWords{GpuState::no_problem, "no finding", Tone::good},
    StateWords{GpuState::warned, "warning", Tone::warn},
    StateWords{GpuState::found, "found", Tone::neutral},
    StateWords{GpuState::hidden, "hidden", Tone::neutral},
    StateWords{GpuState::not_ours, "not ours", Tone::neutral},
    StateWords{GpuState::display_only, "display only", Tone::neutral},
    StateWords{GpuState::not_proven, "not proven", Tone::warn},
    StateWords{GpuState::faked, "faked", Tone::warn},
};
const StateWords& words(GpuState state) {
  for (const auto& entry : kStates)
    if (entry.state == state) return entry;
  return kStates.back();
}

}  // namespace

std::string_view to_text(GpuState state) { return words(state).text; }
bool is_ready(GpuState state) {
  return state == GpuState::ready || state == GpuState::attention || state == GpuState::in_part;
}
bool is_set_apart(GpuState state) {
  return state == GpuState::hidden || state == GpuState::not_ours ||
         state == GpuState::display_only;
}
Tone tone_of(GpuState state) { return words(state).tone; }

Tone tone_of(VerdictStatus status) {
  if (status == VerdictStatus::passed) return Tone::good;
  if (status == VerdictStatus::failed) return Tone::bad;
  return status == VerdictStatus::not_supported ? Tone::neutral : Tone::warn;
}

Tone tone_of(Severity severity) {
  if (severity == Severity::error) return Tone::bad;
  return severity == Severity::warning ? Tone::warn : Tone::neutral;
}

Tone tone_of(Exit exit) {
  if (exit == Exit::ok) return Tone::good;
  return exit == Exit::unknown || exit == Exit::interrupted ? Tone::warn : Tone::bad;
}

std::optional<std::string> link_text(const PcieLink& now, const PcieLink& max) {
  const auto pair = [](std::optional<int> a, std::optional<int> b, std::string_view prefix) {
    if (!a && !b) return std::string();
    if (!a) return fmt::format("{}{} at most", prefix, *b);
    if (!b || *a >= *b) return fmt::format("{}{}", prefix, *a);
    return fmt::format("{}{} of {}", prefix, *a, *b);
  };
  const std::string generation = pair(now.generation, max.generation, "gen ");
  const std::string width = pair(now.width, max.width, "x");
  if (generation.empty() && width.empty()) return std::nullopt;
  if (generation.empty()) return width;
  if (width.empty()) return generation;
  return generation + (generation.contains("of") ? ", " : " ") + width;
}

std::vector<std::string> driver_texts(const Machine& machine) {
  std::vector<std::string> out;
  const NvidiaDriver& nvidia = machine.nvidia;
  if (const auto& version = nvidia.module_version ? nvidia.module_version : nvidia.driver_version)
    out.push_back(fmt::format("driver {}{}", *version,
                              nvidia.module_flavour ? " (" + *nvidia.module_flavour + ")" : ""));
  if (nvidia.cuda_version) out.push_back("CUDA " + *nvidia.cuda_version);
  if (machine.amd.module_version) out.push_back("amdgpu " + *machine.amd.module_version);
  if (machine.amd.rocm_version) out.push_back("ROCm " + *machine.amd.rocm_version);
  if (machine.intel.xe_loaded)
    out.push_back("xe");
  else if (machine.intel.i915_loaded)
    out.push_back("i915");
  return out;
}

std::string looked_at(const Machine& machine) {
  std::vector<std::string> parts{"the PCI bus"};
  if (machine.nvidia.module_loaded || machine.nvidia.nvml_outcome)
    parts.push_back("the NVIDIA driver");
  if (machine.nvidia.nvml_outcome == "completed") parts.push_back("NVML");
  if (machine.nvidia.cuda_outcome == "completed") parts.push_back("the CUDA driver");
  if (machine.amd.module_loaded || machine.amd.kfd_present) parts.push_back("the AMD driver");
  if (machine.intel.i915_loaded || machine.intel.xe_loaded) parts.push_back("the Intel driver");
  if (machine.vulkan.outcome == "completed") parts.push_back("Vulkan");
  if (!machine.nodes.empty()) parts.push_back("device files");
  if (machine.kernel_log.readable) {
    std::size_t left_out = 0;
    for (const auto& line : machine.kernel_log.lines) left_out += line.left_out;
    parts.push_back(left_out == 0
                        ? "the kernel log"
                        : fmt::format("the kernel log ({} repeated lines left out)", left_out));
  }
  if (machine.container.runtime) parts.push_back("the container's limits");
  if (parts.size() == 1) return parts[0];
  const std::string last = parts.back();
  parts.pop_back();
  return join(parts, ", ") + " and " + last;
}

std::string coverage_text(const Coverage& coverage) {
  std::string tested = format_bytes(coverage.tested_bytes);
  if (coverage.total_bytes == 0) return tested;
  const std::string total = format_bytes(coverage.total_bytes);
  const auto unit = [](const std::string& text) { return text.substr(text.find(' ')); };
  if (unit(tested) == unit(total)) tested.resize(tested.find(' '));
  return tested + " of " + total;
}

Tone tone_of(const Obligation& owed) {
  switch (effect_of(owed)) {
    case Effect::unhealthy:
      return owed.status == ObligationStatus::broken ? Tone::bad : Tone::warn;
    case Effect::unknown:
      return Tone::warn;
    case Effect::told:
      return owed.accepted ? Tone::warn : Tone::neutral;
    case Effect::none:
      break;
  }
  return owed.status == ObligationStatus::held ? Tone::good : Tone::neutral;
}

std::vector<OwedGroup> owed_groups(const Summary& summary) {
  std::vector<OwedGroup> groups;
  for (const GpuSummary& row : summary.gpus) {
    if (row.obligations.empty()) continue;
    OwedGroup group;
    for (const Obligation& owed : row.obligations) {
      if (owed.status == ObligationStatus::held) group.held.push_back(words_of(owed.kind));
      if (effect_of(owed) == Effect::none) continue;
      // Those that ended alike stand together.
      const std::string end = fmt::format("{}{}: {}", owed.accepted ? "accepted as " : "",
                                          words_of(owed.status), owed.reason);
      const auto known = std::ranges::find_if(
          group.not_held, [&](const auto& each) { return each.first.ends_with(" " + end); });
      if (known == group.not_held.end())
        group.not_held.emplace_back(words_of(owed.kind) + " " + end, tone_of(owed));
      else
        known->first.insert(known->first.size() - end.size() - 1, ", " + words_of(owed.kind));
    }
    const auto alike = std::ranges::find(groups, group);
    OwedGroup& of = alike == groups.end() ? groups.emplace_back(std::move(group)) : *alike;
    of.gpus.push_back(row.gpu->index);
  }
  return groups;
}

std::string concerned_text(const Finding& finding) {
  std::vector<std::string> parts;
  for (const int gpu : finding.gpus) parts.push_back(fmt::format("GPU {}", gpu));
  if (parts.empty())
    for (const PciAddress& address : finding.pci) parts.push_back(address.text());
  return join(parts, ", ");
}

std::string logged_text(const Logged& logged) {
  const auto at = [](double seconds, const std::optional<std::int64_t>& unix_seconds) {
    return unix_seconds ? format_utc(*unix_seconds)
                        : fmt::format("{:.0f} s after the boot", seconds);
  };
  const auto first = at(logged.first_seconds, logged.first_unix_seconds);
  const auto last = at(logged.last_seconds, logged.last_unix_seconds);
  auto text = first == last ? first : "first " + first + ", last " + last;
  std::vector<std::string> processes;
  for (const auto& process : logged.processes)
    processes.push_back(fmt::format("{} (process {})", process.name, process.pid));
  if (!processes.empty()) text += "; " + join(processes, ", ") + " used the GPU";
  return text;
}

std::string bad_word_text(const BadWord& word) {
  const int bits = std::popcount(word.bits());
  return fmt::format("offset {}: expected {}, read {} ({} bit{}: {}){}{}",
                     format_hex(word.offset_bytes, 10), format_hex(word.expected, 16),
                     format_hex(word.actual, 16), bits, bits == 1 ? "" : "s",
                     format_hex(word.bits()), word.phase.empty() ? "" : " in pass ", word.phase);
}

}  // namespace gpuready
