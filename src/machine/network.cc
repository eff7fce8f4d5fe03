// Network adapters that training needs, from /sys/class/infiniband (Linux, Documentation/ABI/
// stable/sysfs-class-infiniband): InfiniBand, RoCE, and Amazon's EFA. The state and the counters of
// a port are answers of the adapter's firmware, which may never come.
#include <algorithm>
#include <iterator>

#include "base/paths.h"
#include "base/text.h"
#include "machine/pci/pci_files.h"
#include "machine/sources.h"

namespace gpuready {
namespace {
const std::string kFolder = "/sys/class/infiniband", kAdapters = kFolder + "/";

constexpr std::string_view kPortFiles[] = {"state", "phys_state", "link_layer", "rate"};
constexpr std::string_view kAdapterFiles[] = {"fw_ver", "board_id", "hca_type"};
// Errors only; what a driver does not have is absent. The first folder is common to all, of the
// second some are mlx5's and some EFA's.
constexpr std::string_view kCounters[] = {"counters/symbol_error",
                                          "counters/link_downed",
                                          "counters/link_error_recovery",
                                          "counters/local_link_integrity_errors",
                                          "counters/excessive_buffer_overrun_errors",
                                          "counters/port_rcv_errors",
                                          "counters/port_rcv_remote_physical_errors",
                                          "counters/port_xmit_discards",
                                          "hw_counters/rx_icrc_encapsulated",
                                          "hw_counters/out_of_sequence",
                                          "hw_counters/packet_seq_err",
                                          "hw_counters/local_ack_timeout_err",
                                          "hw_counters/rx_drops",
                                          "hw_counters/retrans_timeout_events",
                                          "hw_counters/unresponsive_remote_events"};

// "4: ACTIVE"
std::optional<std::string> word_behind_number(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const auto colon = text->find(": ");
  if (colon == text->npos) return std::nullopt;
  return printable(text->substr(colon + 2));
}

// "400 Gb/sec (4X NDR)"
void parse_rate(std::string_view text, NetworkPort& port) {
  const auto words = split(text, " ()");
  if (words.size() < 3 || words[1] != "Gb/sec" || !words[2].ends_with('X')) return;
  const auto rate = parse_double(words[0]);
  const auto width = parse_uint(words[2].substr(0, words[2].size() - 1));
  if (rate && *rate > 0) port.rate_gbps = rate;
  if (width && *width >= 1 && *width <= 32) port.width = static_cast<int>(*width);
}

NetworkPort read_port(Host& host, const std::string& folder, int number) {
  NetworkPort port;
  port.port = number;
  port.state = word_behind_number(host.read_text(folder + "state"));
  port.physical_state = word_behind_number(host.read_text(folder + "phys_state"));
  if (const auto layer = host.read_text(folder + "link_layer")) port.link_layer = printable(*layer);
  if (const auto rate = host.read_text(folder + "rate")) parse_rate(*rate, port);
  for (const auto counter : kCounters)
    if (const auto text = host.read_text(folder + std::string(counter)))
      if (const auto count = parse_uint(*text)) port.counters.emplace(base_name(counter), *count);
  return port;
}

PciPath path_of(const PciDevice& device) { return {device.host_bridge, device.path}; }

// Which GPUs are the nearest, and what they share with the adapter.
void place(Host& host, const Machine& machine, NetworkAdapter& adapter) {
  if (!adapter.pci) return;
  const auto path = pci_path_of(host, *adapter.pci);
  std::optional<PathKind> nearest;
  for (const auto& device : machine.pci) {
    if (!device.is_gpu) continue;
    auto kind = kind_of_path(path, path_of(device));
    if (!kind && adapter.numa_node && adapter.numa_node == device.numa_node)
      kind = PathKind::numa_node;
    if (!kind || (nearest && *kind > *nearest)) continue;
    if (kind != nearest) adapter.near_gpus.clear();
    nearest = kind;
    adapter.near_gpus.push_back(device.address);
  }
  if (nearest) adapter.near_by = std::string(to_string(*nearest));
}

void read_adapter(Host& host, const std::string& folder,
                  const std::vector<std::pair<int, std::string>>& ports, NetworkAdapter& adapter) {
  const std::pair<const char*, std::optional<std::string>*> kTexts[] = {
      {"fw_ver", &adapter.firmware},
      {"board_id", &adapter.board_id},
      {"hca_type", &adapter.hca_type}};
  for (const auto& [file, field] : kTexts)
    if (const auto text = host.read_text(folder + file); text && !text->empty())
      *field = printable(*text);
  if (const auto device = host.link_name(folder + "device"))
    adapter.pci = parse_pci_address(*device);
  adapter.driver = host.link_name(folder + "device/driver");
  adapter.virtual_function = host.exists(folder + "device/physfn");
  if (const auto node = host.read_int(folder + "device/numa_node"); node && *node >= 0)
    adapter.numa_node = static_cast<int>(std::min<std::int64_t>(*node, 1 << 20));
  for (const auto& [number, port] : ports) adapter.ports.push_back(read_port(host, port, number));
}
}  // namespace

void read_network(Host& host, Machine& machine) {
  const auto names = host.list_directory(kFolder);
  if (!names) {
    const auto kind = names.error().kind;
    if (kind != ErrorKind::not_recorded) note_unseen(machine, kFolder, names.error());
  } else {
    std::vector<std::string> files;
    std::vector<std::vector<std::pair<int, std::string>>> ports(names->size());
    for (std::size_t i = 0; i < names->size(); ++i) {
      const std::string folder = kAdapters + (*names)[i] + "/";
      for (const auto file : kAdapterFiles) files.push_back(folder + std::string(file));
      const auto numbers = host.list_directory(folder + "ports");
      for (const auto& text : numbers ? *numbers : std::vector<std::string>()) {
        const auto number = parse_uint(text);
        if (!number || *number > 255) continue;
        const auto& port =
            ports[i].emplace_back(static_cast<int>(*number), folder + "ports/" + text + "/");
        for (const auto file : kPortFiles) files.push_back(port.second + std::string(file));
        for (const auto file : kCounters) files.push_back(port.second + std::string(file));
      }
    }
    if (!files.empty()) host.ask_driver(files);
    for (std::size_t i = 0; i < names->size(); ++i) {
      auto& adapter = machine.network.emplace_back();
      adapter.name = (*names)[i];
      read_adapter(host, kAdapters + (*names)[i] + "/", ports[i], adapter);
    }
  }
  // An adapter without a name is one that no driver offers here either.
  const auto offered = [&](const NetworkAdapter& idle) {
    return !idle.name && std::ranges::any_of(machine.network, [&](const NetworkAdapter& other) {
      return other.name && other.pci == idle.pci;
    });
  };
  std::vector<NetworkAdapter> adapters;
  std::ranges::remove_copy_if(machine.network, std::back_inserter(adapters), offered);
  machine.network = std::move(adapters);
  if (machine.network.empty()) return;
  for (auto& adapter : machine.network) place(host, machine, adapter);
  for (const std::string module : {"nvidia_peermem", "nv_peer_mem"})
    if (host.exists("/sys/module/" + module)) machine.nvidia.peer_memory = module;
}

}  // namespace gpuready
