// Proof that what arrived is what was sent: data unique to each position and each transfer is
// written on one side and decoded on the other, by the device or by this processor.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "gpuready/verdict.h"
#include "kernels/transfer_kernels.h"

namespace gpuready {

// A word corrupted on its way, on purpose: its bits are flipped where it arrived.
struct TransferFault {
  std::size_t transfer = 0;  // which of the test's transfers
  std::uint64_t word = 0;    // within that transfer
  std::uint64_t bits = 0;
};
// Where the fault of this seed sits, among `transfers` transfers of `words` words each: any word of
// any of them, one bit or several.
TransferFault place_transfer_fault(std::uint64_t seed, std::size_t transfers, std::uint64_t words);

// What a check saw. `sum` has a value that is known beforehand (transfer_params.h).
struct TransferOutcome {
  std::uint64_t words = 0, sum = 0, bad_words = 0;
  std::vector<TransferBadWord> bad;  // in order, the first of the at most 256 recorded
};

// Salts that no two transfers of a test share any positions by.
class TransferSalts {
 public:
  explicit TransferSalts(std::uint64_t seed) : next_(seed) {}
  std::uint64_t next() { return next_ += std::uint64_t{1} << 40; }

 private:
  std::uint64_t next_;
};

// Words in device memory. Everything runs on `stream`; fills are asynchronous.
class TransferChecker {
 public:
  static Result<TransferChecker> make(Device& device, StreamId stream = {});
  Result<void> fill(DeviceAddress target, std::uint64_t words, std::uint64_t salt);
  Result<TransferOutcome> check(DeviceAddress base, std::uint64_t words, std::uint64_t salt,
                                const std::optional<TransferFault>& fault = std::nullopt);
  Result<TransferOutcome> check_sum(DeviceAddress base, std::uint64_t words, std::uint64_t salt_a,
                                    std::uint64_t salt_b, bool halves);
  // Atomic adds are started on several devices before the outcome of any is waited for.
  Result<void> start_atomics(DeviceAddress counters, std::uint64_t count, std::uint64_t adds_each);
  Result<TransferOutcome> finish();

 private:
  TransferChecker(Device& device, StreamId stream, DeviceBuffer results)
      : device_(&device), stream_(stream), results_(std::move(results)) {}
  Result<void> clear();
  Result<void> launch(const Kernel& kernel, std::uint64_t items, const void* params,
                      std::size_t params_bytes);

  Device* device_;
  StreamId stream_;
  DeviceBuffer results_;
};

// Words in the host's memory, by several threads of this processor.
void fill_host(void* target, std::uint64_t words, std::uint64_t salt);
TransferOutcome check_host(void* base, std::uint64_t words, std::uint64_t salt,
                           const std::optional<TransferFault>& fault = std::nullopt);

// What the words of one salt add up to; `words` is even.
constexpr std::uint64_t transfer_sum(std::uint64_t words, std::uint64_t salt) {
  return words / 2 * (words - 1) + words * salt;
}

// True when all `words` words were checked, add up to `sum` and were good. Otherwise the verdict
// has failed, with the first bad words as mismatches of `what`.
bool judge_transfer(Verdict& verdict, std::string_view what, const TransferOutcome& outcome,
                    std::uint64_t words, std::uint64_t sum, std::size_t max_reported);

}  // namespace gpuready
