#include "doctor/sxid.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "machine/system/kernel_log.h"

namespace gpuready::doctor {
namespace {

// By kind, where the code says more than the line's own "Fatal" and "Non-fatal".
constexpr int kCorrected[] = {
    11012, 11021, 11022, 11023,                              // ingress
    12021, 12023,                                            // egress
    15008, 15011,                                            // route
    19049, 19055, 19057, 19059, 19062, 19065, 19068, 19071,  // multicast and reductions
    24001, 24002, 24003,                                     // source tracking
};
constexpr int kHarmless[] = {
    10005,  // the heat is over
    22013,  // a link's request to its controller
};
constexpr int kFabric[] = {
    10003,                                                          // unhandled host interrupt
    12020,                                                          // egress sequence id
    22003, 22011,                                                   // link controller halted
    23001, 23002, 23003, 23004, 23005, 23006, 23007, 23008, 23009,  // crossbar, first side
    23010, 23011, 23012, 23013, 23014, 23015, 23016, 23017,         // crossbar, other side
};

template <class Codes>
bool holds(const Codes& codes, int code) {
  return std::find(std::begin(codes), std::end(codes), code) != std::end(codes);
}

SxidKind kind_of(int code, bool fatal) {
  if (holds(kHarmless, code)) return SxidKind::harmless;
  if (holds(kCorrected, code) && !fatal) return SxidKind::corrected;
  if (holds(kFabric, code)) return SxidKind::fabric;
  return fatal ? SxidKind::fatal : SxidKind::nonfatal;
}

// A number at the front, taken off.
std::optional<int> take_number(std::string_view& text) {
  const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_uint(text.substr(0, end));
  if (!number || *number > 1'000'000) return std::nullopt;
  text.remove_prefix(end);
  return static_cast<int>(*number);
}

}  // namespace

std::optional<Sxid> parse_sxid(std::string_view line) {
  constexpr std::string_view kStart = "SXid (PCI:";
  const auto message = parse_message(line);
  if (!message || !message->writer.starts_with("nvidia-nvswitch")) return std::nullopt;
  if (!message->text.starts_with(kStart)) return std::nullopt;
  auto rest = message->text.substr(kStart.size());
  const auto close = rest.find("): ");
  if (close == rest.npos) return std::nullopt;
  Sxid event;
  event.pci = parse_pci_address(rest.substr(0, close));
  rest.remove_prefix(close + 3);
  const auto code = take_number(rest);
  if (!code) return std::nullopt;
  event.code = *code;
  if (rest.starts_with(", Data {")) {
    event.kind = kind_of(event.code, false);
    event.data = true;
    return event;
  }
  const bool fatal = rest.starts_with(", Fatal, ");
  if (!fatal && !rest.starts_with(", Non-fatal, ")) return std::nullopt;
  event.kind = kind_of(event.code, fatal);
  rest = rest.substr(rest.find(", ", 2) + 2);
  if (auto after = after_prefix(rest, "Link ")) {
    event.link = take_number(*after);
    if (event.link) rest = trim(*after);
  }
  event.name = rest;
  return event;
}

}  // namespace gpuready::doctor
