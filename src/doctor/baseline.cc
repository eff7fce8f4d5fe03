// compare_with_baseline(): what was lost or changed since an earlier recording. GPUs are paired by
// UUID, else by PCI address; what only one side knows is never compared.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "doctor/compare.h"
#include "doctor/facts.h"
#include "doctor/network_ports.h"

namespace gpuready {
namespace {
using doctor::about;
using doctor::Match;
using doctor::quote;

std::string label(const Gpu& gpu) {
  std::string text = gpu.name.empty() ? std::string("GPU") : gpu.name;
  if (gpu.pci) text += " at " + gpu.pci->text();
  return quote(text);
}

std::string was_is(std::string_view before, std::string_view now) {
  return fmt::format("was {}, is {}", before, now);
}

class Comparison {
 public:
  Comparison(const Machine& before, const Machine& now) : before_(before), now_(now) {}

  void tell(std::string_view id, Match match) {
    told_.push_back(doctor::tell(doctor::find_cause(id), std::move(match), now_));
  }

  void gpus() {
    for (const auto& old : before_.gpus) {
      if (old.faked) continue;
      const auto* same = pair_of(old, now_);
      if (!same) {
        Match match;
        if (old.pci) match.pci.push_back(*old.pci);
        match.evidence.push_back(
            doctor::evidence("baseline", label(old) + (old.uuid ? ", " + *old.uuid : "")));
        const auto* device = old.pci ? doctor::pci_device(now_, *old.pci) : nullptr;
        match.evidence.push_back(doctor::evidence("now", device
                                                             ? "another device is at this address"
                                                             : "no GPU with this UUID or address"));
        match.title = "Lost: " + label(old);
        tell("gpu-lost", std::move(match));
        continue;
      }
      one_gpu(old, *same);
    }
    for (const auto& gpu : now_.gpus) {
      if (gpu.faked || pair_of(gpu, before_)) continue;
      Match match = about(gpu);
      match.title = "New: " + label(gpu);
      match.evidence.push_back(doctor::evidence("baseline", "has no such GPU"));
      tell("gpu-added", std::move(match));
    }
    if (before_.gpus.size() != now_.gpus.size()) {
      Match match;
      match.title =
          fmt::format("{} GPUs, {} in the baseline", now_.gpus.size(), before_.gpus.size());
      match.evidence.push_back(doctor::evidence(
          "GPUs", was_is(std::to_string(before_.gpus.size()), std::to_string(now_.gpus.size()))));
      if (now_.gpus.size() > before_.gpus.size()) match.severity = Severity::info;
      tell("gpu-count-changed", std::move(match));
    }
  }

  void software() {
    const auto& old = before_.nvidia;
    const auto& now = now_.nvidia;
    text("driver-changed", "NVIDIA kernel module", old.module_version, now.module_version);
    text("driver-changed", "NVIDIA module flavour", old.module_flavour, now.module_flavour);
    if (old.driver_version != old.module_version || now.driver_version != now.module_version)
      text("driver-changed", "NVIDIA driver (user space)", old.driver_version, now.driver_version);
    text("driver-changed", "CUDA of the driver", old.cuda_version, now.cuda_version);
    text("driver-changed", "amdgpu", before_.amd.module_version, now_.amd.module_version);
    text("driver-changed", "ROCm", before_.amd.rocm_version, now_.amd.rocm_version);
  }

  // A port's counters start again with the machine or its driver.
  void network() {
    const auto then = static_cast<double>(before_.system.uptime_seconds.value_or(0));
    const auto is = static_cast<double>(now_.system.uptime_seconds.value_or(0));
    const double hours = (is > then ? is - then : is) / 3600;
    for (const auto& place : doctor::network_ports(now_)) {
      const auto old = std::ranges::find_if(before_.network, [&](const NetworkAdapter& known) {
        return known.name == place.adapter->name && known.pci == place.adapter->pci;
      });
      if (old == before_.network.end() || !place.adapter->name) continue;
      const auto port = std::ranges::find(old->ports, place.port->port, &NetworkPort::port);
      if (port != old->ports.end()) one_port(*port, place, hours);
    }
  }

  std::vector<Finding> take() { return doctor::fold(std::move(told_), now_); }

 private:
  static const Gpu* pair_of(const Gpu& gpu, const Machine& in) {
    if (gpu.uuid)
      if (const auto* same = in.find_gpu_by_uuid(*gpu.uuid)) return same;
    if (!gpu.pci) return nullptr;
    return in.find_gpu(*gpu.pci);
  }

  void text(std::string_view id, std::string_view what, const std::optional<std::string>& old,
            const std::optional<std::string>& now) {
    if (!old || !now || *old == *now) return;
    Match match;
    match.title = fmt::format("{}: {} instead of {}", what, quote(*now), quote(*old));
    match.evidence.push_back(doctor::evidence(what, was_is(*old, *now)));
    tell(id, std::move(match));
  }

  void one_port(const NetworkPort& old, const doctor::NetworkPlace& place, double hours) {
    Match match = about(*place.adapter);
    for (const auto& [counter, count] : place.port->counters) {
      const auto before = old.counters.find(counter);
      const auto limit =
          std::ranges::find(doctor::link_error_limits(), counter, &doctor::LinkErrorLimit::counter);
      if (before == old.counters.end() || limit == doctor::link_error_limits().end() ||
          count <= before->second)
        continue;
      const double usual = limit->usual(hours);
      if (static_cast<double>(count - before->second) > usual)
        match.evidence.push_back(
            doctor::evidence(doctor::file_of(place, "counters/" + counter),
                             was_is(std::to_string(before->second), std::to_string(count)) +
                                 fmt::format("; up to {:.0f} more are usual", usual)));
    }
    if (match.evidence.empty()) return;
    match.title =
        fmt::format("{} port {} had link errors", quote(*place.adapter->name), place.port->port);
    tell("network-errors-increased", std::move(match));
  }

  void one_gpu(const Gpu& old, const Gpu& now) {
    const auto changed = [&](std::string_view id, std::string_view source, std::string quoted,
                             std::optional<Severity> severity = std::nullopt) {
      Match match = about(now);
      match.severity = severity;
      match.title = fmt::format("{}: {}", label(now), quoted);
      match.evidence.push_back(doctor::evidence(source, quoted));
      tell(id, std::move(match));
    };
    if (old.uuid && now.uuid && !equals_ignore_case(*old.uuid, *now.uuid))
      changed("gpu-replaced", "UUID", was_is(*old.uuid, *now.uuid));
    else if (!old.name.empty() && !now.name.empty() && old.name != now.name &&
             old.name_source == now.name_source)
      changed("gpu-replaced", "model", was_is(old.name, now.name));
    if (old.pci && now.pci && *old.pci != *now.pci)
      changed("gpu-moved", "PCI address", was_is(old.pci->text(), now.pci->text()));
    links(old, now, changed);
    if (old.ecc.enabled_now && now.ecc.enabled_now && *old.ecc.enabled_now != *now.ecc.enabled_now)
      changed("ecc-mode-changed", "ECC",
              was_is(*old.ecc.enabled_now ? "on" : "off", *now.ecc.enabled_now ? "on" : "off"));
    const auto &was = old.memory.total_bytes, &is = now.memory.total_bytes;
    if (was && is && *is < *was)
      changed("memory-reduced", "memory",
              was_is(format_bytes(*was), format_bytes(*is)) +
                  fmt::format(" ({} bytes less)", *was - *is));
    if (old.vbios_version && now.vbios_version && *old.vbios_version != *now.vbios_version)
      changed("driver-changed", "VBIOS", "VBIOS " + was_is(*old.vbios_version, *now.vbios_version));
    // Counters that are kept on the board; those since the driver's load start again with it.
    for (const auto& change : doctor::lasting_increases(old, now))
      changed(change.id, change.source, change.quote);
  }

  template <class Changed>
  static void links(const Gpu& old, const Gpu& now, Changed&& changed) {
    const auto less = [](const std::optional<int>& before, const std::optional<int>& after) {
      return before && after && *after < *before;
    };
    if (less(old.link_max.generation, now.link_max.generation) ||
        less(old.link_max.width, now.link_max.width) ||
        less(old.link_now.width, now.link_now.width))
      changed("link-reduced", "PCI Express link",
              was_is(fmt::format("Gen{} x{} (at most x{})", old.link_max.generation.value_or(0),
                                 old.link_now.width.value_or(0), old.link_max.width.value_or(0)),
                     fmt::format("Gen{} x{} (at most x{})", now.link_max.generation.value_or(0),
                                 now.link_now.width.value_or(0), now.link_max.width.value_or(0))));
    if (const int then = doctor::links_up(old), is = doctor::links_up(now); is < then)
      changed("nvlinks-lost", "NVLinks up",
              was_is(fmt::format("{} up", then), fmt::format("{} up", is)));
  }

  const Machine& before_;
  const Machine& now_;
  std::vector<doctor::ReportedCause> told_;
};

}  // namespace

std::vector<Finding> compare_with_baseline(const Machine& baseline, const Machine& now) {
  Comparison comparison(baseline, now);
  comparison.gpus();
  comparison.software();
  comparison.network();
  return comparison.take();
}

}  // namespace gpuready
