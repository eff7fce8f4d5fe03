// PCI Express errors of GPUs and of the ports above them, as the kernel's Advanced Error Reporting
// logs them: drivers/pci/pcie/aer.c, err.c and dpc.c of Linux 4.x to 6.18. The words changed:
// "Corrected" is "Correctable" and "Uncorrected" is "Uncorrectable" since 6.8, "error received: X"
// is "error message received from X".
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "doctor/facts.h"

namespace gpuready::doctor {
namespace {

enum class Gravity { corrected, nonfatal, fatal };

// A healthy link corrects next to nothing for months.
constexpr std::size_t kStormCount = 100;
constexpr double kStormPerHour = 10;

std::optional<Gravity> gravity_in(std::string_view text) {
  if (text.starts_with("Corrected") || text.starts_with("Correctable")) return Gravity::corrected;
  if (!text.starts_with("Uncorrect")) return std::nullopt;
  const auto end = text.find(')');
  const auto head = text.substr(0, end == text.npos ? text.size() : end);
  return contains(head, "Non-Fatal") ? Gravity::nonfatal : Gravity::fatal;
}

struct ErrorLine {
  PciAddress at;  // where the error was seen
  Gravity gravity = Gravity::corrected;
  bool details = false;  // "PCIe Bus Error": one for each error; else the port's own report of it
};

std::optional<PciAddress> last_address_in(std::string_view text) {
  std::optional<PciAddress> last;
  for (const auto word : split(text, " ,()"))
    if (const auto address = pci_address_in(word)) last = address;
  return last;
}

std::optional<ErrorLine> parse_error(std::string_view text) {
  constexpr std::string_view kBusError = "PCIe Bus Error: severity=", kReport = "AER: ";
  if (const auto at = text.find(kBusError); at != text.npos) {
    const auto gravity = gravity_in(text.substr(at + kBusError.size()));
    const auto address = pci_address_in(text.substr(0, at));
    if (gravity && address) return ErrorLine{*address, *gravity, true};
    return std::nullopt;
  }
  if (contains(text, "DPC: ") && contains(text, "ERR_FATAL")) {
    const auto address = pci_address_in(text);
    if (address) return ErrorLine{*address, Gravity::fatal, false};
    return std::nullopt;
  }
  const auto at = text.find(kReport);
  if (at == text.npos || !contains(text, " received")) return std::nullopt;
  auto rest = text.substr(at + kReport.size());
  if (const auto more = after_prefix(rest, "Multiple ")) rest = *more;
  const auto gravity = gravity_in(rest);
  const auto source = last_address_in(rest);
  if (gravity && source) return ErrorLine{*source, *gravity, false};
  return std::nullopt;
}

struct Errors {
  std::size_t details = 0, reports = 0;
  std::optional<double> first, last;
  std::vector<Evidence> quotes;
  std::size_t count() const { return std::max(details, reports); }
};
using ByPlace = std::map<std::pair<PciAddress, Gravity>, Errors>;

ByPlace errors_of(const Machine& machine) {
  ByPlace all;
  for (const auto& line : machine.kernel_log.lines) {
    const auto error = parse_error(line.text);
    if (!error) continue;
    auto& errors = all[{error->at, error->gravity}];
    (error->details ? errors.details : errors.reports) += 1 + line.left_out;
    if (line.seconds) {
      if (!errors.first) errors.first = line.seconds;
      errors.last = line.seconds;
    }
    if (errors.quotes.size() < 2) errors.quotes.push_back(evidence("kernel log", line.text));
  }
  return all;
}

bool is_storm(const Errors& errors) {
  if (errors.count() < kStormCount) return false;
  if (!errors.first || !errors.last) return true;
  const double hours = std::max(*errors.last - *errors.first, 60.0) / 3600;
  return static_cast<double>(errors.count()) / hours >= kStormPerHour;
}

// The GPUs whose path to the processor leads over this place.
std::optional<Match> below(const Machine& machine, const PciAddress& place) {
  Match match;
  for (const auto& device : machine.pci) {
    const bool over = device.address == place ||
                      std::find(device.path.begin(), device.path.end(), place) != device.path.end();
    if (!device.is_gpu || !over) continue;
    const Match one = about(machine, device.address);
    match.gpus.insert(match.gpus.end(), one.gpus.begin(), one.gpus.end());
    match.pci.insert(match.pci.end(), one.pci.begin(), one.pci.end());
  }
  if (match.pci.empty()) return std::nullopt;
  return match;
}

// The kernel resets the link after a fatal error, and says how that ended.
bool recovered(const Machine& machine, const Match& match) {
  bool answers_all = true;
  for (const auto& address : match.pci) answers_all &= answers(machine, address);
  const auto hits = log_hits(machine, {"device recovery successful", "device recovery failed"});
  return answers_all || (!hits.empty() && contains(hits.back().text, "successful"));
}

std::string place_text(const Machine& machine, const PciAddress& place) {
  const auto* device = pci_device(machine, place);
  return device && device->is_gpu ? std::string() : " (port " + place.text() + " above it)";
}

std::vector<Match> fatal(const Facts& facts) {
  std::vector<Match> matches;
  for (const auto& [key, errors] : errors_of(facts.machine)) {
    auto match = key.second == Gravity::fatal ? below(facts.machine, key.first) : std::nullopt;
    if (!match) continue;
    match->evidence = errors.quotes;
    match->title =
        "A fatal PCI Express error hit the GPU's link" + place_text(facts.machine, key.first);
    if (recovered(facts.machine, *match)) {
      match->severity = Severity::warning;
      *match->title += ", which works again";
    }
    matches.push_back(std::move(*match));
  }
  return matches;
}

std::vector<Match> lesser(const Facts& facts) {
  std::vector<Match> matches;
  for (const auto& [key, errors] : errors_of(facts.machine)) {
    const bool nonfatal = key.second == Gravity::nonfatal;
    if (!nonfatal && (key.second != Gravity::corrected || !is_storm(errors))) continue;
    auto match = below(facts.machine, key.first);
    if (!match) continue;
    match->evidence = errors.quotes;
    const auto place = place_text(facts.machine, key.first);
    if (nonfatal) {
      match->title = fmt::format("PCI Express errors on the GPU's link{}", place);
      match->explanation = "Transfers over the link failed, and the link went on.";
    } else {
      match->title =
          fmt::format("{} corrected PCI Express errors on the GPU's link{}", errors.count(), place);
    }
    if (errors.count() > match->evidence.size())
      match->evidence.back().source = fmt::format("kernel log ({} such errors)", errors.count());
    matches.push_back(std::move(*match));
  }
  return matches;
}

}  // namespace

std::vector<Cause> pcie_causes() {
  return {
      {.id = "pcie-fatal-error",
       .severity = Severity::error,
       .title = "A fatal PCI Express error hit the GPU's link",
       .explanation = "The link, or a device on it, failed beyond what the kernel could repair.",
       .cure = "Reboot with a full power cycle; if it comes again, reseat the GPU and its riser, "
               "check retimers and power, then replace the GPU.",
       .command = "lspci -vvv -s {pci} | grep -E 'LnkSta|UESta|CESta'",
       .explains = {"pcie-errors"},
       .match = fatal},
      {.id = "pcie-errors",
       .severity = Severity::warning,
       .title = "PCI Express errors on the GPU's link",
       .explanation = "The link repeats packets all the time: its signal is bad, and it loses "
                      "speed.",
       .cure = "Reseat the GPU and its riser; check cables, retimers and the slot, and try a lower "
               "link generation.",
       .command = "lspci -vvv -s {pci} | grep -E 'LnkSta|UESta|CESta'",
       .explains = {},
       .match = lesser},
  };
}

}  // namespace gpuready::doctor
