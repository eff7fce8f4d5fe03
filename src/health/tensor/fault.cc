#include "health/tensor/fault.h"

#include <random>
#include <vector>

namespace gpuready {
namespace {

constexpr std::uint32_t kNaNBits = 0x7fffffff;  // fp32, as matrix instructions give it

}  // namespace

TensorFaultPlace draw_tensor_fault(const Fault& fault, std::span<const TensorForm* const> forms,
                                   std::span<const std::uint64_t> units) {
  std::mt19937_64 random(fault.seed);
  const auto below = [&](std::uint64_t bound) { return random() % bound; };
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < forms.size(); ++i)
    if (fault.kind != FaultClass::nan || forms[i]->type != TensorType::int8)
      candidates.push_back(i);
  TensorFaultPlace place;
  place.form = candidates[below(candidates.size())];
  const TensorForm& form = *forms[place.form];
  place.fault.unit = units[below(units.size())];
  place.fault.thread = static_cast<unsigned>(below(form.threads()));
  place.fault.chain = static_cast<unsigned>(below(kLeastTensorChains));
  place.fault.element = static_cast<unsigned>(below(form.accumulators()));
  place.fault.bits = 1u << below(32);
  place.fault.kind = kTensorFaultFlip;
  if (fault.kind == FaultClass::slow_sm) place.fault.kind = kTensorFaultSlow;
  if (fault.kind == FaultClass::slow_clock) {
    place.fault.kind = kTensorFaultIdle;
    place.fault.unit = kTensorEveryUnit;
  }
  if (fault.kind == FaultClass::nan) {
    place.fault.kind = kTensorFaultNan;
    place.fault.bits = kNaNBits;
  }
  return place;
}

}  // namespace gpuready
