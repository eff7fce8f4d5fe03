#include "doctor/pcie_log.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "machine/system/kernel_log.h"

namespace gpuready::doctor {
namespace {

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
  bool multiple = false;
};

std::optional<PciAddress> last_address_in(std::string_view text) {
  std::optional<PciAddress> last;
  for (const auto word : split(text, " ,()"))
    if (const auto address = pci_address_in(word)) last = address;
  return last;
}

// "id=6100": bus, device and function, in the domain of the port that reports it.
std::optional<PciAddress> requester_in(std::string_view text, const PciAddress& port) {
  const auto at = text.find("id=");
  if (at == text.npos) return std::nullopt;
  const auto word = text.substr(at + 3);
  const auto id = parse_uint(word.substr(0, word.find_first_not_of("0123456789abcdefABCDEF")), 16);
  if (!id || *id > 0xffff) return std::nullopt;
  PciAddress address = port;
  address.bus = static_cast<decltype(address.bus)>(*id >> 8);
  address.device = static_cast<decltype(address.device)>(*id >> 3 & 31);
  address.function = static_cast<decltype(address.function)>(*id & 7);
  return address;
}

std::optional<ErrorLine> containment(std::string_view text) {
  const bool fatal = contains(text, "ERR_FATAL") || contains(text, "unmasked uncorrectable error");
  if (!fatal && !contains(text, "ERR_NONFATAL")) return std::nullopt;
  const auto address = pci_address_in(text);
  if (!address) return std::nullopt;
  return ErrorLine{*address, fatal ? Gravity::fatal : Gravity::nonfatal, false};
}

std::optional<ErrorLine> parse_error(std::string_view text) {
  const auto message = parse_message(text);
  if (!message) return std::nullopt;
  const auto head = text.substr(0, text.size() - message->text.size());
  const auto report = after_prefix(message->text, "AER: ");
  auto rest = report.value_or(message->text);
  if (const auto error = after_prefix(rest, "PCIe Bus Error: severity=")) {
    const auto gravity = gravity_in(*error);
    const auto address = pci_address_in(head);
    if (gravity && address) return ErrorLine{*address, *gravity, true};
    return std::nullopt;
  }
  if (rest.starts_with("DPC: ")) return containment(text);
  if (!report || !contains(rest, " received")) return std::nullopt;
  const auto more = after_prefix(rest, "Multiple ");
  rest = more.value_or(rest);
  const auto gravity = gravity_in(rest);
  auto source = last_address_in(rest);
  if (const auto port = pci_address_in(head); !source && port) source = requester_in(rest, *port);
  if (gravity && source) return ErrorLine{*source, *gravity, false, more.has_value()};
  return std::nullopt;
}

// Platforms whose firmware reads the errors first hand the kernel a record of several lines:
// "{3}[Hardware Error]: event severity: recoverable", "...  section_type: PCIe error",
// "...  device_id: 0000:61:00.0".
class FirmwareRecord {
 public:
  std::optional<ErrorLine> line(std::string_view text) {
    const auto head = text.find("}[Hardware Error]:");
    if (head == text.npos || !text.starts_with('{')) return std::nullopt;
    if (const auto number = text.substr(0, head); number != number_)
      number_ = number, gravity_.reset(), pcie_ = false;
    const auto rest = trim(text.substr(text.find(':') + 1));
    if (const auto word = after_prefix(rest, "event severity: "))
      gravity_ = gravity_of(trim(*word));
    else if (const auto type = after_prefix(rest, "section_type: "))
      pcie_ = trim(*type) == "PCIe error";
    const auto device = after_prefix(rest, "device_id: ");
    const auto address = device ? pci_address_in(*device) : std::nullopt;
    if (!pcie_ || !gravity_ || !address) return std::nullopt;
    return ErrorLine{*address, *gravity_, true};
  }

 private:
  static std::optional<Gravity> gravity_of(std::string_view word) {
    if (word == "corrected") return Gravity::corrected;
    if (word == "recoverable") return Gravity::nonfatal;
    if (word == "fatal" || word == "panic") return Gravity::fatal;
    return std::nullopt;
  }

  std::string number_;
  std::optional<Gravity> gravity_;
  bool pcie_ = false;
};

}  // namespace

LinkErrorsByPlace logged_link_errors(const Machine& machine) {
  constexpr std::size_t kQuotes = 2;
  LinkErrorsByPlace all;
  FirmwareRecord record;
  for (const auto& line : machine.kernel_log.lines) {
    auto error = record.line(line.text);
    if (!error) error = parse_error(line.text);
    if (!error) continue;
    auto& errors = all[{error->at, error->gravity}];
    (error->details ? errors.details : errors.reports) += 1 + line.left_out;
    errors.again |= error->multiple || errors.count() > 1;
    if (line.seconds) {
      if (!errors.first) errors.first = line.seconds;
      errors.last = line.seconds;
    }
    if (errors.quotes.size() < kQuotes) errors.quotes.push_back(evidence("kernel log", line.text));
  }
  return all;
}

std::optional<PciAddress> refused_by_iommu(std::string_view text) {
  if (!says_any(text, {"DMAR: [", "AMD-Vi: Event logged [IO_PAGE_FAULT ",
                       "*: AMD-Vi: Event logged [IO_PAGE_FAULT ",
                       "kernel: arm-smmu-v3 *: event: * client: "}))
    return std::nullopt;
  constexpr std::string_view kIntel = "Request device [",
                             kAmd = "[IO_PAGE_FAULT device=", kArm = " client: ";
  for (const auto before : {kIntel, kAmd, kArm}) {
    const auto at = text.find(before);
    if (at == text.npos) continue;
    const auto rest = text.substr(at + before.size());
    const std::string word(rest.substr(0, rest.find_first_of("] ")));
    return parse_pci_address(std::ranges::count(word, ':') == 1 ? "0000:" + word : word);
  }
  return pci_address_in(text);
}

}  // namespace gpuready::doctor
