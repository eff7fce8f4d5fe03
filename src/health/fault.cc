#include "health/fault.h"

#include <array>

namespace gpuready {
namespace {

constexpr std::array<std::string_view, 1> kMemory = {"memory"};
constexpr std::array<std::string_view, 2> kArithmetic = {"compute", "tensor"};
constexpr std::array<std::string_view, 1> kBandwidth = {"bandwidth"};
constexpr std::array<std::string_view, 1> kPeers = {"peers"};

struct Entry {
  FaultClass kind;
  std::string_view name;
  std::span<const std::string_view> found_by;
};
constexpr std::array<Entry, 11> kFaults = {{
    {FaultClass::bitflip, "bitflip", kMemory},
    {FaultClass::stuck, "stuck", kMemory},
    {FaultClass::dropped_write, "dropped-write", kMemory},
    {FaultClass::alias, "alias", kMemory},
    {FaultClass::coupling, "coupling", kMemory},
    {FaultClass::wrong_sm, "wrong-sm", kArithmetic},
    {FaultClass::nan, "nan", kArithmetic},
    {FaultClass::slow_sm, "slow-sm", kArithmetic},
    {FaultClass::slow_clock, "slow-clock", kArithmetic},
    {FaultClass::copy, "copy", kBandwidth},
    {FaultClass::peer_copy, "peer-copy", kPeers},
}};

const Entry& entry_of(FaultClass kind) { return kFaults[static_cast<std::size_t>(kind)]; }

}  // namespace

std::string_view to_string(FaultClass kind) { return entry_of(kind).name; }

std::optional<FaultClass> fault_class_from(std::string_view name) {
  for (const Entry& entry : kFaults)
    if (entry.name == name) return entry.kind;
  return std::nullopt;
}

std::span<const FaultClass> all_fault_classes() {
  static constexpr auto kAll = [] {
    std::array<FaultClass, kFaults.size()> kinds{};
    for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = kFaults[i].kind;
    return kinds;
  }();
  return kAll;
}

std::span<const std::string_view> tests_that_find(FaultClass kind) {
  return entry_of(kind).found_by;
}

Json to_json(const Fault& fault) {
  return {
      {"kind", std::string(to_string(fault.kind))}, {"seed", fault.seed}, {"count", fault.count}};
}

Result<Fault> fault_from_json(const Json& doc) {
  const auto kind = fault_class_from(get_string(doc, "kind").value_or(""));
  if (!kind) return fail(ErrorKind::bad_input, "the fault to inject has no known kind");
  return Fault{*kind, get_uint(doc, "seed").value_or(0), get_uint(doc, "count").value_or(1)};
}

}  // namespace gpuready
