// Network ports that training needs. None makes a GPU unusable: work on several nodes stops or
// slows down. One look tells no port that is unused on purpose from one that failed, so a port is
// compared with its siblings: those of the same board (or chip), and, if it is down, in the same
// place.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "doctor/facts.h"
#include "doctor/kernel_signs.h"
#include "doctor/network_ports.h"
#include "machine/system/kernel_log.h"

namespace gpuready::doctor {
namespace {

std::string kind_of(const NetworkAdapter& adapter) {
  return adapter.board_id.value_or(adapter.hca_type.value_or(""));
}

using Place = NetworkPlace;
using Group = std::vector<Place>;

// What is alike, by board, link layer and `also`.
template <class Also>
std::vector<Group> groups(const Machine& machine, Also&& also) {
  std::map<std::tuple<std::string, std::string, int>, Group> by_kind;
  for (const auto& [adapter, port] : network_ports(machine))
    by_kind[{kind_of(*adapter), port->link_layer.value_or(""), also(*adapter, *port)}].push_back(
        {adapter, port});
  std::vector<Group> out;
  for (auto& [kind, group] : by_kind) out.push_back(std::move(group));
  return out;
}
int nothing_else(const NetworkAdapter&, const NetworkPort&) { return 0; }
// The second port of a card, which often has no cable, is another function or another number.
int slot_place(const NetworkAdapter& adapter, const NetworkPort& port) {
  return port.port * 8 + (adapter.pci ? adapter.pci->function : 0);
}

bool is_active(const Place& place) { return place.port->state == "ACTIVE"; }
std::size_t active(const Group& group) {
  return static_cast<std::size_t>(std::ranges::count_if(group, is_active));
}

std::uint64_t count_of(const NetworkPort& port, const std::string& counter) {
  const auto found = port.counters.find(counter);
  return found == port.counters.end() ? 0 : found->second;
}

std::vector<Match> ports_down(const Facts& facts) {
  std::vector<Match> matches;
  for (const auto& group : groups(facts.machine, slot_place)) {
    const auto up = active(group);
    for (const auto& place : group) {
      const auto& port = *place.port;
      if (port.state != "DOWN") continue;
      const auto losses = count_of(port, "link_downed");
      if (!(up >= 2 && up > group.size() - up) && losses == 0) continue;
      Match match = about(*place.adapter);
      match.evidence.push_back(
          evidence(file_of(place, "state"),
                   fmt::format("{}, {}", *port.state, port.physical_state.value_or("unknown"))));
      if (up > 0)
        match.evidence.push_back(evidence("ports of the same board in the same place",
                                          fmt::format("{} of {} are ACTIVE", up, group.size())));
      if (losses > 0)
        match.evidence.push_back(
            evidence(file_of(place, "counters/link_downed"), std::to_string(losses)));
      if (port.link_layer == "Ethernet") {
        match.cure =
            "Look whether the interface is switched off (ip link set up switches it on). Then "
            "check the switch's port, and reseat or replace the cable or transceiver.";
        match.command = "rdma link show";
      }
      matches.push_back(std::move(match));
    }
  }
  return matches;
}

std::vector<Match> not_configured(const Facts& facts) {
  std::vector<Match> matches;
  for (const auto& place : network_ports(facts.machine)) {
    const auto& port = *place.port;
    if (port.link_layer != "InfiniBand" || port.physical_state != "LinkUp") continue;
    if (port.state != "INIT" && port.state != "ARMED") continue;
    Match match = about(*place.adapter);
    match.evidence.push_back(evidence(file_of(place, "state"), *port.state));
    matches.push_back(std::move(match));
  }
  return matches;
}

// What more than half of the active ports have, if another has less.
template <class Value>
std::optional<Value> usual(const Group& group, std::optional<Value> NetworkPort::* field) {
  std::map<Value, std::size_t> counts;
  for (const auto& place : group)
    if (const auto& value = place.port->*field; value && is_active(place)) ++counts[*value];
  for (const auto& [value, count] : counts)
    if (count >= 2 && count * 2 > active(group)) return value;
  return std::nullopt;
}

std::vector<Match> links_reduced(const Facts& facts) {
  std::vector<Match> matches;
  for (const auto& group : groups(facts.machine, nothing_else)) {
    const auto rate = usual(group, &NetworkPort::rate_gbps);
    const auto width = usual(group, &NetworkPort::width);
    for (const auto& place : group) {
      const auto& port = *place.port;
      const bool slow = rate && port.rate_gbps && *port.rate_gbps < *rate;
      const bool narrow = width && port.width && *port.width < *width;
      if (!is_active(place) || (!slow && !narrow)) continue;
      Match match = about(*place.adapter);
      match.evidence.push_back(evidence(
          file_of(place, "rate"), fmt::format("{:g} Gbit/s over {} lanes; most of its "
                                              "siblings have {:g} over {}",
                                              port.rate_gbps.value_or(0), port.width.value_or(0),
                                              rate.value_or(0), width.value_or(0))));
      if (port.link_layer == "Ethernet") match.command = "rdma link show";
      matches.push_back(std::move(match));
    }
  }
  return matches;
}

std::vector<Match> link_errors(const Facts& facts) {
  const double hours = static_cast<double>(facts.machine.system.uptime_seconds.value_or(0)) / 3600;
  std::vector<Match> matches;
  for (const auto& place : network_ports(facts.machine)) {
    Match match = about(*place.adapter);
    for (const auto& limit : link_error_limits()) {
      const auto count = count_of(*place.port, limit.counter);
      const double most = limit.usual(hours);
      if (count >= limit.full || static_cast<double>(count) > most)
        match.evidence.push_back(evidence(file_of(place, fmt::format("counters/{}", limit.counter)),
                                          fmt::format("{}; up to {:.0f} are usual", count, most)));
    }
    if (place.port->link_layer == "Ethernet") {
      match.cure = "Reseat or replace the cable or transceiver, and watch the counters.";
      match.command = "rdma statistic show";
    }
    if (!match.evidence.empty()) matches.push_back(std::move(match));
  }
  return matches;
}

std::vector<Match> firmware_differs(const Facts& facts) {
  std::map<std::string, std::map<std::string, std::vector<const NetworkAdapter*>>> boards;
  for (const auto& adapter : facts.machine.network)
    if (adapter.firmware && !adapter.virtual_function && !kind_of(adapter).empty())
      boards[kind_of(adapter)][*adapter.firmware].push_back(&adapter);
  std::vector<Match> matches;
  for (const auto& [board, versions] : boards) {
    if (versions.size() < 2) continue;
    Match match;
    for (const auto& [version, adapters] : versions) {
      std::vector<std::string> names;
      for (const auto* adapter : adapters) {
        names.push_back(adapter->name.value_or("?"));
        if (adapter->pci) match.pci.push_back(*adapter->pci);
      }
      match.evidence.push_back(evidence("/sys/class/infiniband/*/fw_ver",
                                        fmt::format("{}: {}", version, join(names, ", "))));
    }
    matches.push_back(std::move(match));
  }
  return matches;
}

std::vector<Match> without_driver_bound(const Facts& facts) {
  std::vector<Match> matches;
  for (const auto& adapter : facts.machine.network) {
    if (adapter.name || !adapter.pci) continue;
    Match match = about(adapter);
    match.evidence.push_back(
        evidence(fmt::format("/sys/bus/pci/devices/{}/driver", adapter.pci->text()),
                 adapter.driver ? "-> " + *adapter.driver : "no driver is bound"));
    if (adapter.driver) {  // mlx4_core or mlx5_core
      const auto half = adapter.driver->substr(0, adapter.driver->find('_')) + "_ib";
      match.title = "The InfiniBand half of a network adapter's driver is not loaded";
      match.explanation = fmt::format(
          "{} drives the adapter, and {}, which offers InfiniBand and RDMA, is not loaded: the "
          "adapter does not appear as an InfiniBand device.",
          quote(*adapter.driver), quote(half));
      match.cure = fmt::format(
          "Load {0}, also at startup. If the kernel has no such module, install the kernel's "
          "extra modules (linux-modules-extra, kernel-modules-extra), or build the OFED for this "
          "kernel.",
          quote(half));
      match.command = "modprobe {half}";
      match.values.emplace_back("half", half);
      match.evidence.push_back(evidence("/sys/module/" + half, "not loaded"));
    }
    matches.push_back(std::move(match));
  }
  return matches;
}

// mlx5's health reports begin "Health issue observed, TEXT, severity(N)", as syslog numbers N.
bool is_grave(std::string_view line) {
  constexpr std::string_view kReport = "Health issue observed", kSeverity = "severity(";
  if (!contains(line, kReport)) return true;
  const auto at = line.find(kSeverity);
  return at != line.npos && line.substr(at + kSeverity.size(), 1) <= "3";
}

bool works_now(const Machine& machine, const PciAddress& address) {
  return std::ranges::any_of(machine.network, [&](const NetworkAdapter& adapter) {
    return adapter.pci == address &&
           std::ranges::any_of(adapter.ports,
                               [](const NetworkPort& port) { return port.state == "ACTIVE"; });
  });
}

// The driver starts the adapter again, or could not agree with its firmware on what it can do
// ("mlx5_load_one failed" before Linux 5.9).
const Ids kStarts = {"mlx5_core: firmware version: "};
const Ids kNotSetUp = {"mlx5_core: ...handle_hca_cap failed", "mlx5_core: ...set_hca_cap failed",
                       "mlx5_core: ...set_hca_ctrl failed",
                       "mlx5_core: mlx5_load_one failed with error code ",
                       "mlx5_core: ...mlx5_load_one failed with error code "};

std::map<PciAddress, Match> not_set_up(const Machine& machine) {
  std::map<PciAddress, Match> by_adapter;
  for (const auto& [address, hits] : standing_hits(machine, kNotSetUp, kStarts, device_of)) {
    if (works_now(machine, address)) continue;
    auto& match = by_adapter[address];
    for (const auto& hit : hits)
      if (match.evidence.size() < 2) match.evidence.push_back(evidence("kernel log", hit.text));
    match.pci = {address};
    match.title = "A network adapter's driver could not set it up";
    match.explanation =
        "The kernel's driver and the adapter's firmware do not agree on what the adapter can do, "
        "so it has no port. The GPUs are not affected.";
    match.cure =
        "Install a kernel or a driver (NVIDIA's DOCA-OFED) and a firmware of the adapter that "
        "belong together.";
    match.action = Action::configure;
  }
  return by_adapter;
}

// drivers/net/ethernet/mellanox/mlx4/main.c: its registers (DCS) and doorbells (UAR).
constexpr std::string_view kNoWindow[] = {"mlx4_core: Missing DCS, aborting",
                                          "mlx4_core: Missing UAR, aborting"};

std::vector<Match> firmware_failed(const Facts& facts) {
  auto by_adapter = not_set_up(facts.machine);
  std::set<PciAddress> known;
  for (const auto& [address, match] : by_adapter) known.insert(address);
  for (const auto& hit :
       log_hits(facts.machine,
                {"mlx5_core: ...device's health compromised", "mlx5_core: ...Fatal error ",
                 "mlx5_core: ...Health issue observed", "mlx5_core: ...assert_exit_ptr",
                 "mlx5_core: ...synd 0x", "mlx5_core: ...Will cause a leak of a command resource",
                 "mlx5_core: ...canceled on out of queue timeout",
                 "mlx5_core: ...health recovery flow aborted", "mlx5_core: ...mlx5_init_one failed",
                 "mlx5_core: ...in pre-initializing state", "mlx4_core: Internal error detected",
                 kNoWindow[0], kNoWindow[1], "mlx4_core: probe of ",
                 "mlx4_core: probe with driver mlx4_core failed"})) {
    if (!hit.pci || !is_grave(hit.text) || known.contains(*hit.pci)) continue;
    auto& match = by_adapter[*hit.pci];
    match.pci = {*hit.pci};
    if (match.evidence.size() < 2) match.evidence.push_back(evidence("kernel log", hit.text));
    if (!says_any(hit.text, kNoWindow)) continue;
    match.title = "The firmware gave a network adapter no memory window";
    match.explanation =
        "A base address register (BAR) of the adapter holds no address, so its driver cannot reach "
        "it. The GPUs are not affected.";
    match.cure =
        "Turn on Above 4G Decoding in the machine's firmware, or boot with pci=realloc; in a "
        "virtual machine, enlarge its 64-bit MMIO space.";
    match.action = Action::configure;
    match.terms = kInFirmware;
  }
  std::vector<Match> matches;
  for (auto& [address, match] : by_adapter) {
    if (works_now(facts.machine, address)) {
      match.standing = Standing::past;
      match.title = "A network adapter's firmware failed earlier, and works again";
      match.cure = "If it comes again: update the adapter's firmware, then replace the adapter.";
      match.action = Action::check_again;
    }
    matches.push_back(std::move(match));
  }
  return matches;
}

// drivers/net/ethernet/mellanox/mlx5/core/events.c. A module that is plugged again is another one,
// or works.
const Ids kPlugged = {"mlx5_core: ...Port module event: module "};
const Ids kModuleErrors = {"mlx5_core: ...Port module event[error]: module "};

std::vector<Match> module_failed(const Facts& facts) {
  std::vector<Match> matches;
  for (const auto& [address, hits] :
       standing_hits(facts.machine, kModuleErrors, kPlugged, device_of)) {
    const auto& line = hits.back().text;
    Match match;
    match.pci = {address};
    match.evidence = {evidence("kernel log", line)};
    if (contains(line, ", High Temperature")) {
      match.title = "A network port's module is too hot";
      match.cure = "Let more air through the machine; if the module stays hot, replace it.";
      match.action = Action::configure;
    } else if (contains(line, ", Power budget exceeded")) {
      match.title = "A network port's module needs more power than the port gives";
      match.cure = "Use a cable or module that the adapter's maker lists for it.";
    }
    if (works_now(facts.machine, address)) {
      match.standing = Standing::past;
      match.severity = Severity::info;
      match.title = "A network port's module reported an error earlier, and the port is active";
    }
    matches.push_back(std::move(match));
  }
  return matches;
}

std::vector<Match> adapter_too_hot(const Facts& facts) {
  std::map<PciAddress, Match> by_adapter;
  for (const auto& hit :
       log_hits(facts.machine, {"mlx5_core: ...High temperature on sensors with bit set "}))
    if (hit.pci) by_adapter[*hit.pci].evidence = {evidence("kernel log", hit.text)};
  std::vector<Match> matches;
  for (auto& [address, match] : by_adapter) {
    match.pci = {address};
    matches.push_back(std::move(match));
  }
  return matches;
}

// "31.504 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x4 link at ... (capable of ...)"
// (drivers/pci/pci.c of Linux), where that is less than half of the port's rate. Many slots and
// boards have fewer lanes by design, and no look at the link tells: a sibling that has more does.
std::vector<Match> slot_narrow(const Facts& facts) {
  const auto& machine = facts.machine;
  if (machine.system.hypervisor) return {};  // its links are not the real ones
  struct Link {
    const NetworkAdapter* adapter;
    double gbps;
    std::string line;
  };
  std::vector<Link> links;
  for (const auto& hit : log_hits(machine, {"mlx5_core: * Gb/s available PCIe bandwidth"})) {
    const auto message = parse_message(hit.text);
    const auto text = message ? message->text : std::string_view();
    const auto gbps = parse_double(text.substr(0, text.find(' ')));
    std::erase_if(links, [&](const Link& link) { return link.adapter->pci == hit.pci; });
    for (const auto& adapter : machine.network)
      if (gbps && hit.pci && adapter.pci == hit.pci) links.push_back({&adapter, *gbps, hit.text});
  }
  std::vector<Match> matches;
  for (const auto& link : links) {
    if (std::ranges::none_of(link.adapter->ports, [&](const NetworkPort& port) {
          return port.state == "ACTIVE" && port.rate_gbps.value_or(0) > 2 * link.gbps;
        }))
      continue;
    bool alike = false, odd = false;
    for (const auto& other : links)
      if (kind_of(*other.adapter) == kind_of(*link.adapter) &&
          !same_slot(*other.adapter->pci, *link.adapter->pci))
        (other.gbps > link.gbps ? odd : alike) = true;
    Match match = about(*link.adapter);
    match.evidence.push_back(evidence("kernel log", link.line));
    if (odd) {
      match.evidence.push_back(evidence("adapters of the same board", "have a faster link"));
    } else {
      if (alike) match.severity = Severity::info;
      match.explanation =
          "The link has less than half of the port's rate. Slots and adapters are often wired for "
          "fewer lanes by design (OCP, riser, M.2, onboard): then nothing is broken.";
      match.cure =
          "Compare LnkCap of the port above the adapter with LnkSta. If the slot has no more "
          "lanes, move the adapter to one that has, or live with the rate. Only where both ends "
          "can more, look at how the firmware divides the lanes, then reseat adapter and riser.";
      match.action = Action::check_again;
      const auto& line = link.line;
      if (const auto port = pci_address_in(line.substr(std::min(line.find(" at "), line.size())))) {
        match.values.emplace_back("port", port->text());
        match.command = "sudo lspci -vv -s {port} | grep -E 'LnkCap:|LnkSta:'";
      }
    }
    matches.push_back(std::move(match));
  }
  return matches;
}

// DMA-BUF does without a module, from Linux 5.12 on with NVIDIA's open kernel module (NVIDIA, GPU
// Operator, "GPUDirect RDMA").
std::vector<Match> no_peer_memory(const Facts& facts) {
  const auto& machine = facts.machine;
  const auto& nvidia = machine.nvidia;
  if (nvidia.peer_memory || !nvidia.module_flavour || in_container(machine)) return {};
  const auto kernel = parse_version(find_version(machine.system.kernel_release).value_or(""));
  if (!kernel || (nvidia.module_flavour == "open" && *kernel >= Version{{5, 12}})) return {};
  const auto can = [&](const Gpu& gpu) {  // GeForce has no GPUDirect RDMA
    return gpu.vendor == Vendor::nvidia && gpu.pci && !contains(gpu.name, "GeForce") &&
           runs_now(machine, *gpu.pci);
  };
  if (std::ranges::none_of(machine.gpus, can)) return {};
  for (const auto& adapter : machine.network)
    for (const auto& port : adapter.ports)
      if (port.state == "ACTIVE" && (adapter.driver.value_or("").starts_with("mlx") ||
                                     adapter.hca_type.value_or("").starts_with("MT"))) {
        Match match = about(adapter);
        match.evidence.push_back(
            evidence("/sys/module", "neither nvidia_peermem nor nv_peer_mem is loaded"));
        return {match};
      }
  return {};
}

constexpr CureInside kAskHost{"Ask the host's administrator to look at this adapter.",
                              Action::ask_host};

}  // namespace

std::vector<Cause> network_causes() {
  return {
      {.id = "network-adapter-too-hot",
       .severity = Severity::warning,
       .title = "A network adapter is too hot",
       .explanation = "Its own sensors report a temperature above their limits; the adapter slows "
                      "down and stops if it gets hotter. The GPUs are not affected.",
       .cure = "Let more air through the machine: check fans, filters and the blanks of empty "
               "slots.",
       .command = "dmesg | grep mlx5_core",
       .action = Action::configure,
       .terms = CureTerms{.place = CurePlace::hardware},
       .in_container = kAskHost,
       .explains = {"network-firmware-failed", "network-port-down", "network-driver-missing"},
       .match = adapter_too_hot},
      {.id = "network-module-failed",
       .severity = Severity::warning,
       .title = "A network port's cable or module does not work",
       .explanation = "The adapter refuses or cannot read what is plugged into its port. Training "
                      "over several nodes fails or slows down without it; the GPUs are not "
                      "affected.",
       .cure = "Reseat the cable or module, then replace it.",
       .command = "dmesg | grep 'Port module event'",
       .action = Action::replace,
       .in_container = kAskHost,
       .explains = {"network-port-down", "network-link-reduced", "network-link-errors"},
       .match = module_failed},
      {.id = "network-firmware-failed",
       .severity = Severity::warning,
       .title = "A network adapter's firmware failed",
       .explanation = "The adapter's driver reports that its firmware stopped or does not answer. "
                      "What communicates through it hangs or fails; the GPUs are not affected.",
       .cure =
           "Cut the machine's power and start it again; if it comes again, update the adapter's "
           "firmware, then replace the adapter.",
       .command = "dmesg | grep -E 'mlx[45]_core'",
       .action = Action::power_cycle,
       .in_container = kAskHost,
       .explains = {"network-port-down", "network-driver-missing", "network-port-not-configured"},
       .match = firmware_failed},
      {.id = "network-driver-missing",
       .severity = Severity::warning,
       .title = "No driver is bound to a network adapter for training",
       .explanation = "The InfiniBand or EFA adapter is on the bus, and no program can use it.",
       .cure = "Install and load the adapter's driver: AWS's EFA installer for EFA, the kernel's "
               "mlx5_core or NVIDIA's DOCA-OFED for InfiniBand.",
       .command = "lspci -k -s {pci}",
       .action = Action::configure,
       .terms = kAsRoot,
       .in_container = kAskHost,
       .match = without_driver_bound},
      {.id = "network-port-down",
       .severity = Severity::warning,
       .title = "A network port is down",
       .explanation = "Other ports of this kind are active, or it was up before. Training over "
                      "several nodes fails or slows down without it; the GPUs are not affected.",
       .cure =
           "Reseat or replace the cable or transceiver; check that the switch's port is enabled.",
       .command = "ibstat",
       .action = Action::replace,
       .in_container = kAskHost,
       .match = ports_down},
      {.id = "network-port-not-configured",
       .severity = Severity::warning,
       .title = "An InfiniBand port waits for a subnet manager",
       .explanation =
           "Its link is up, and no subnet manager has given it an address, so nothing can "
           "be sent through it.",
       .cure = "Start a subnet manager on the switch or on one host (opensm), and look at its log.",
       .command = "sminfo",
       .action = Action::configure,
       .terms = kAsRoot,
       .in_container = kAskHost,
       .match = not_configured},
      {.id = "network-link-reduced",
       .severity = Severity::warning,
       .title = "A network port is slower than its siblings",
       .explanation =
           "Its link was negotiated at a lower rate or with fewer lanes than that of most "
           "ports of the same board. The slowest port sets the pace of training.",
       .cure = "Reseat or replace the cable or transceiver; check the speed set at the switch.",
       .command = "ibstat",
       .action = Action::replace,
       .in_container = kAskHost,
       .match = links_reduced},
      {.id = "network-slot-narrow",
       .severity = Severity::warning,
       .title = "A network adapter's PCI Express link is slower than its port",
       .explanation = "The link has less than half of the port's rate, and adapters of the same "
                      "board have a faster one here. It sets the pace of training.",
       .cure = "Compare the slot and the firmware's settings for it (lanes, link speed) with those "
               "of its siblings. Then reseat the adapter and its riser, and try another slot.",
       .command = "sudo lspci -vv -s {pci} | grep -E 'LnkCap|LnkSta'",
       .action = Action::replace,
       .in_container = kAskHost,
       .match = slot_narrow},
      {.id = "network-link-errors",
       .severity = Severity::warning,
       .title = "A network port has many link errors",
       .explanation = "The signal is bad: packets are sent again, or the link was lost repeatedly.",
       .cure = "Reseat or replace the cable or transceiver; clear the counters (perfquery -R), and "
               "check again.",
       .command = "perfquery",
       .action = Action::replace,
       .in_container = kAskHost,
       .match = link_errors},
      {.id = "network-firmware-differs",
       .severity = Severity::info,
       .title = "Network adapters of one kind have different firmware",
       .explanation = "They work; differences in their speed and behavior may come from this.",
       .cure = "Update all adapters of this kind to the same version.",
       .in_container = kAskHost,
       .match = firmware_differs},
      {.id = "gpudirect-unavailable",
       .severity = Severity::info,
       .title = "Network adapters cannot reach GPU memory directly",
       .explanation =
           "Neither the module nvidia_peermem nor DMA-BUF is available for GPUDirect RDMA, "
           "so data between nodes is copied through the host's memory.",
       .cure =
           "For training over several nodes, load the module now and at every start; or install "
           "the open kernel module, which does without it (DMA-BUF).",
       .command = "sudo modprobe nvidia-peermem && echo nvidia-peermem | sudo tee "
                  "/etc/modules-load.d/nvidia-peermem.conf",
       .match = no_peer_memory},
  };
}

}  // namespace gpuready::doctor
