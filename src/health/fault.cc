#include "health/fault.h"

#include <array>

namespace gpuready {
namespace {

constexpr std::array<std::string_view, 1> kMemory = {"memory"};
constexpr std::array<std::string_view, 2> kArithmetic = {"compute", "tensor"};
constexpr std::array<std::string_view, 1> kBandwidth = {"bandwidth"};
constexpr std::array<std::string_view, 1> kPeers = {"peers"};
constexpr std::array<std::string_view, 4> kOfOneDevice = {"memory", "compute", "tensor",
                                                          "bandwidth"};
constexpr std::array<std::string_view, 2> kThatCopyToDevice = {"tensor", "bandwidth"};

// By class.
constexpr std::span<const std::string_view> kFoundBy[] = {
    kMemory,     kMemory,     kMemory,    kMemory, kMemory,      kArithmetic,       kArithmetic,
    kArithmetic, kArithmetic, kBandwidth, kPeers,  kOfOneDevice, kThatCopyToDevice, kOfOneDevice};
static_assert(std::size(kFoundBy) == kNames<FaultClass>.size());

}  // namespace

std::span<const FaultClass> all_fault_classes() {
  static constexpr auto kAll = [] {
    std::array<FaultClass, kNames<FaultClass>.size()> kinds{};
    for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = kNames<FaultClass>[i].value;
    return kinds;
  }();
  return kAll;
}

std::span<const std::string_view> tests_that_find(FaultClass kind) {
  return kFoundBy[static_cast<std::size_t>(kind)];
}

}  // namespace gpuready
