// Launches of the compute test's kernel: one block on every unit, and what the blocks wrote down.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "device/device.h"
#include "health/compute/reference.h"
#include "health/event_timer.h"
#include "health/fault.h"
#include "health/sealed_results.h"
#include "kernel_abi/compute_params.h"

namespace gpuready {

// A fault on purpose, and where: drawn from its seed.
struct ComputeFault {
  ComputeFaultKind kind = ComputeFaultKind::none;
  unsigned unit = 0, op = 0, index = 0;
  std::uint64_t bits = 0;  // flipped, or the NaN
};
// Absent for the classes that are not faults of arithmetic. `units` and `ops` are those that there
// are; `work` tells the inputs (a NaN is only put where none is expected).
std::optional<ComputeFault> compute_fault(const Fault& fault, std::span<const unsigned> units,
                                          std::span<const unsigned> ops, const ComputeWork& work);

// Whether units have no names here, as in Vulkan and HIP: work groups are handed out to whichever
// is free, and tell no time that could be compared.
bool units_are_unnamed(const DeviceInfo& info);

class ComputeLauncher {
 public:
  static Result<ComputeLauncher> make(Device& device);

  unsigned blocks() const { return shape_.blocks; }  // one a unit, where units have names
  // The inputs of a launch of all operations from first_op to end_op.
  ComputeWork work(std::uint64_t seed, unsigned first_op, unsigned end_op) const;
  // The operations among these that this device has.
  std::vector<unsigned> ops(unsigned first_op, unsigned end_op) const;

  // One record a block; those of blocks that did not end have another nonce.
  Result<std::vector<ComputeRecord>> run(const ComputeWork& work,
                                         const std::optional<ComputeFault>& fault);
  std::uint64_t nonce() const { return nonce_; }  // of the last launch
  // Of all launches so far, the blocks and those that did not come to their end.
  std::uint64_t launched_blocks() const { return launched_blocks_; }
  std::uint64_t silent_blocks() const { return silent_blocks_; }
  double ms() const { return ms_; }  // of the last launch, on GPUs whose units tell their cycles
  unsigned shared_bytes() const { return shared_words_ * 4; }  // tested, of each unit
  // The results of one operation as this unit computes them now; absent when no block came to it.
  Result<std::optional<std::vector<std::uint64_t>>> results_of(
      ComputeWork work, unsigned op, unsigned unit, const std::optional<ComputeFault>& fault);

 private:
  ComputeLauncher(Device& device, SealedResults records)
      : device_(&device), records_(std::move(records)) {}
  Result<std::vector<ComputeRecord>> launch(ComputeParams params);

  Device* device_;
  SealedResults records_;
  LaunchShape shape_;
  unsigned count_ = 0, shared_words_ = 0;
  std::uint64_t nonce_ = 0, launched_blocks_ = 0, silent_blocks_ = 0;
  std::optional<EventTimer> timer_;
  double ms_ = 0;
};

}  // namespace gpuready
