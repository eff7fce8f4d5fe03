#include "vm/host_facts.h"

#include <fnmatch.h>

#include <algorithm>

#include "base/paths.h"
#include "base/text.h"

namespace gpuready::vm {
namespace {

constexpr HoldingService kServices[] = {
    {"nvidia-persistenced.service", "nvidia-persiste", false, false},
    {"nvidia-dcgm.service", "nv-hostengine", true, false},
    {"dcgm.service", "nv-hostengine", true, false},
    {"dcgm-exporter.service", "dcgm-exporter", true, false},
    // Fabric Manager for NVIDIA NVSwitch Systems, User Guide: ABORT_CUDA_JOBS_ON_FM_EXIT=1.
    {"nvidia-fabricmanager.service", "nv-fabricmanage", true, true},
};
// Where systemd keeps the services that run: cgroup 2, hybrid, cgroup 1.
constexpr std::string_view kServiceFolders[] = {"/sys/fs/cgroup/system.slice/",
                                                "/sys/fs/cgroup/unified/system.slice/",
                                                "/sys/fs/cgroup/systemd/system.slice/"};
constexpr std::string_view kModuleEndings[] = {".ko", ".ko.xz", ".ko.zst", ".ko.gz"};
constexpr std::size_t kMostAliasBytes = 32u << 20;

// A module of this kernel: loaded, built in, or a file.
bool has_module(Host& host, const std::string& release, const std::string& path) {
  std::string loaded(base_name(path));
  std::ranges::replace(loaded, '-', '_');
  if (host.exists("/sys/module/" + loaded)) return true;
  const std::string base = "/lib/modules/" + release + "/kernel/" + path;
  for (const auto ending : kModuleEndings)
    if (host.exists(base + std::string(ending))) return true;
  const auto builtin = host.read_file("/lib/modules/" + release + "/modules.builtin");
  return builtin && contains(*builtin, "kernel/" + path + ".ko");
}

std::optional<std::string> cpu_vendor(const SystemState& system) {
  if (system.architecture == "aarch64") return "arm";
  if (!system.cpu_model) return std::nullopt;
  if (contains(*system.cpu_model, "Intel")) return "intel";
  if (contains(*system.cpu_model, "AMD")) return "amd";
  return std::nullopt;
}

std::vector<HugePagePool> read_huge_pages(Host& host) {
  std::vector<HugePagePool> pools;
  const std::string nodes = "/sys/devices/system/node";
  for (const auto& name : host.list_directory(nodes).value_or(std::vector<std::string>{})) {
    const auto number = after_prefix(name, "node");
    const auto node = number ? parse_uint(*number) : std::nullopt;
    if (!node || *node > 4096) continue;
    const std::string folder = nodes + "/" + name + "/hugepages";
    for (const auto& pool : host.list_directory(folder).value_or(std::vector<std::string>{})) {
      const auto size = after_prefix(pool, "hugepages-");
      if (!size || !size->ends_with("kB")) continue;
      const auto kib = parse_uint(size->substr(0, size->size() - 2));
      if (!kib || *kib > (1ull << 40)) continue;
      const auto count = [&](const char* file) -> std::uint64_t {
        return static_cast<std::uint64_t>(
            std::max<std::int64_t>(0, host.read_int(folder + "/" + pool + "/" + file).value_or(0)));
      };
      pools.push_back({.node = static_cast<int>(*node),
                       .page_bytes = *kib * 1024,
                       .total = count("nr_hugepages"),
                       .free = count("free_hugepages")});
    }
  }
  return pools;
}

}  // namespace

std::span<const HoldingService> holding_services() { return kServices; }

std::vector<VfioVariant> parse_variants(std::string_view modules_alias) {
  std::vector<VfioVariant> variants;
  for (const auto line : lines(modules_alias)) {
    const auto rest = after_prefix(line, "alias vfio_pci:");
    if (!rest) continue;
    const auto words = split(*rest, " ");
    // vfio-pci itself claims everything by this alias; it is what is taken when no other does.
    if (words.size() == 2 && words[1] != "vfio_pci" && words[1] != "vfio-pci")
      variants.push_back({std::string(words[0]), std::string(words[1])});
  }
  return variants;
}

std::string_view best_vfio_driver(const std::vector<VfioVariant>& variants,
                                  std::string_view modalias) {
  const auto device = after_prefix(modalias, "pci:");
  if (device)
    for (const auto& variant : variants)
      if (fnmatch(variant.pattern.c_str(), std::string(*device).c_str(), 0) == 0)
        return variant.module;
  return "vfio-pci";
}

HostFacts read_host_facts(Host& host, const Machine& machine) {
  HostFacts facts;
  facts.kernel_release = machine.system.kernel_release;
  facts.hypervisor = machine.system.hypervisor;
  facts.effective_uid = machine.system.effective_uid;
  facts.cpu_vendor = cpu_vendor(machine.system);
  const auto groups = host.list_directory("/sys/kernel/iommu_groups");
  facts.iommu_groups = groups && !groups->empty();
  facts.vfio_pci_registered = host.exists("/sys/bus/pci/drivers/vfio-pci");
  facts.vfio_pci_present = facts.vfio_pci_registered ||
                           has_module(host, facts.kernel_release, "drivers/vfio/pci/vfio-pci");
  facts.vfio_type1_present =
      has_module(host, facts.kernel_release, "drivers/vfio/vfio_iommu_type1");
  if (const auto aliases = host.read_file("/lib/modules/" + facts.kernel_release + "/modules.alias",
                                          kMostAliasBytes))
    facts.variants = parse_variants(*aliases);
  for (const auto& service : kServices)
    if (std::ranges::any_of(kServiceFolders, [&](std::string_view folder) {
          return host.exists(std::string(folder) + std::string(service.unit));
        }))
      facts.services.emplace_back(service.unit);
  facts.huge_pages = read_huge_pages(host);
  return facts;
}

}  // namespace gpuready::vm
