#include "health/spoiled_device.h"

#include <fmt/format.h>

#include "base/random.h"
#include "device/device_proxy.h"

namespace gpuready {
namespace {

constexpr std::uint64_t kMostCalls = 256;  // until it is known how many there are

class SpoiledDevice final : public DeviceProxy {
 public:
  // One of the first `among` calls of the fault's kind, drawn from its seed.
  SpoiledDevice(Device& device, const Fault& fault, std::uint64_t among)
      : DeviceProxy(device), fault_(fault), hit_(SplitMix64::at(fault.seed, 0) % among) {}
  std::uint64_t calls() const { return calls_; }
  bool made() const { return calls_ > hit_; }

  Result<void> launch(StreamId stream, const Kernel& kernel, const LaunchShape& shape,
                      const void* params, std::size_t params_bytes) override {
    if (hits(FaultClass::lost_launch)) return {};
    return inner_->launch(stream, kernel, shape, params, params_bytes);
  }
  Result<void> copy_to_host(StreamId stream, void* target, DeviceAddress source,
                            std::uint64_t bytes) override {
    TRY(inner_->copy_to_host(stream, target, source, bytes));
    if (bytes == 0 || !hits(FaultClass::result_copy)) return {};
    TRY(inner_->synchronize(stream));
    static_cast<unsigned char*>(target)[place() % bytes] ^= bit();
    return {};
  }
  Result<void> copy_to_device(StreamId stream, DeviceAddress target, const void* source,
                              std::uint64_t bytes) override {
    TRY(inner_->copy_to_device(stream, target, source, bytes));
    if (bytes == 0 || !hits(FaultClass::operand_copy)) return {};
    const std::uint64_t at = place() % bytes;
    const unsigned char byte = static_cast<const unsigned char*>(source)[at] ^ bit();
    TRY(inner_->copy_to_device(stream, target + at, &byte, 1));
    return inner_->synchronize(stream);
  }

 private:
  bool hits(FaultClass kind) { return fault_.kind == kind && calls_++ == hit_; }
  std::uint64_t place() const { return SplitMix64::at(fault_.seed, 1); }
  unsigned char bit() const {
    return static_cast<unsigned char>(1u << SplitMix64::at(fault_.seed, 2) % 8);
  }

  const Fault fault_;
  const std::uint64_t hit_;
  std::uint64_t calls_ = 0;
};

}  // namespace

Verdict test_on_spoiled_device(OneDeviceTest test, Device& device, const TestOptions& options,
                               const TestHooks& hooks) {
  const Fault fault = *options.inject;
  const auto named = [&](Verdict verdict) {
    verdict.injected_fault = to_string(fault.kind);
    return verdict;
  };
  TestOptions unknowing = options;
  unknowing.inject.reset();
  TestHooks told = hooks;
  if (hooks.partial) told.partial = [&](const Verdict& verdict) { hooks.partial(named(verdict)); };
  // A run in which it did not come to that call was a clean one, and tells how many calls there
  // are.
  for (std::uint64_t among = kMostCalls;;) {
    SpoiledDevice spoiled(device, fault, among);
    Verdict verdict = named(test(spoiled, unknowing, told));
    if (spoiled.made() || verdict.status != VerdictStatus::passed) return verdict;
    among = spoiled.calls();
    if (among > 0) continue;
    verdict.status = VerdictStatus::not_supported;
    verdict.reason =
        fmt::format("this test makes no call that {} could change", to_string(fault.kind));
    return verdict;
  }
}

}  // namespace gpuready
