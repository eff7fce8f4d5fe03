#include "fleet/node_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/text_layout.h"

namespace gpuready::fleet {
namespace {

using Text = std::optional<std::string>;

constexpr std::size_t kMostValue = 80;

template <class Number>
Text number(const std::optional<Number>& value, std::string_view unit = "") {
  return value ? Text(fmt::format("{}{}", *value, unit)) : Text();
}
Text on_off(const std::optional<bool>& value) {
  return value ? Text(*value ? "on" : "off") : Text();
}
Text not_empty(const std::string& value) { return value.empty() ? Text() : Text(value); }

struct MachineRow {
  std::string_view name;
  Text (*get)(const Machine& machine);
};
constexpr MachineRow kMachine[] = {
    {"NVIDIA driver", [](const Machine& m) { return m.nvidia.module_version; }},
    {"driver flavour", [](const Machine& m) { return m.nvidia.module_flavour; }},
    {"NVIDIA library", [](const Machine& m) { return m.nvidia.driver_version; }},
    {"amdgpu", [](const Machine& m) { return m.amd.module_version; }},
    {"ROCm", [](const Machine& m) { return m.amd.rocm_version; }},
    {"Fabric Manager", [](const Machine& m) { return m.nvidia.fabric_manager; }},
    {"kernel", [](const Machine& m) { return not_empty(m.system.kernel_release); }},
    {"operating system", [](const Machine& m) { return m.system.os_name; }},
    {"CPU", [](const Machine& m) { return m.system.cpu_model; }},
    {"CPUs online", [](const Machine& m) { return number(m.system.cpu_count); }},
};

struct GpuRow {
  std::string_view name;
  Text (*get)(const Gpu& gpu);
};
Text link_of(const PcieLink& link) {
  if (!link.generation || !link.width) return {};
  return fmt::format("gen {} x{}", *link.generation, *link.width);
}
constexpr GpuRow kGpu[] = {
    {"VBIOS", [](const Gpu& g) { return g.vbios_version; }},
    {"firmware", [](const Gpu& g) { return g.firmware_version; }},
    {"part number", [](const Gpu& g) { return g.part_number; }},
    {"SMs", [](const Gpu& g) { return number(g.multiprocessors); }},
    {"maximum SM clock", [](const Gpu& g) { return number(g.clocks.max_sm_mhz, " MHz"); }},
    {"power limit",
     [](const Gpu& g) {
       return g.power.limit_mw ? Text(fmt::format("{} W", *g.power.limit_mw / 1000)) : Text();
     }},
    {"maximum link", [](const Gpu& g) { return link_of(g.link_max); }},
    {"link width", [](const Gpu& g) { return number(g.link_now.width, " lanes"); }},
    {"ECC", [](const Gpu& g) { return on_off(g.ecc.enabled_now); }},
    {"MIG", [](const Gpu& g) { return on_off(g.mig_enabled); }},
    {"persistence", [](const Gpu& g) { return on_off(g.persistence); }},
    {"compute mode", [](const Gpu& g) { return g.compute_mode; }},
    {"NVLinks up",
     [](const Gpu& g) {
       if (g.nvlinks.empty()) return Text();
       return Text(std::to_string(std::ranges::count(g.nvlinks, std::optional(true), &NvLink::up)));
     }},
    {"confidential computing", [](const Gpu& g) { return on_off(g.confidential_compute); }},
};

}  // namespace

void read_facts(const Machine& machine, NodeReport& out) {
  const auto add = [&](std::string_view name, int gpu, Text value) {
    if (value && !value->empty())
      out.facts.push_back({name, gpu, cut(one_line(*value), kMostValue)});
  };
  std::map<std::string, std::size_t> models;
  for (const Gpu& gpu : machine.gpus) {
    if (gpu.integrated) continue;
    ++out.gpus;
    ++models[gpu.name];
  }
  for (std::size_t most = 0; const auto& [model, count] : models)
    if (count > most) {
      most = count;
      out.model = cut(one_line(model), kMostValue);
    }
  add(kGpuCount, -1, std::to_string(out.gpus));
  for (const auto& row : kMachine) add(row.name, -1, row.get(machine));
  add("gpuready", -1, out.tool_version);
  if (machine.system.memory_total_bytes)
    out.rates.push_back(
        {"memory of the node", "B", -1, static_cast<double>(*machine.system.memory_total_bytes)});
  for (const Gpu& gpu : machine.gpus) {
    if (gpu.integrated || gpu.suspended || gpu.name != out.model) continue;
    for (const auto& row : kGpu) add(row.name, gpu.index, row.get(gpu));
    if (gpu.memory.total_bytes)
      out.rates.push_back(
          {"memory of the GPU", "B", gpu.index, static_cast<double>(*gpu.memory.total_bytes)});
  }
}

}  // namespace gpuready::fleet
