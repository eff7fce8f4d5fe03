// Proof that what arrived is what was sent: data unique to each position and each transfer is
// written on one side and decoded on the other, by the device or by this processor.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "gpuready/verdict.h"
#include "health/sealed_results.h"
#include "kernels/transfer_kernels.h"

namespace gpuready {

// A word corrupted on its way, on purpose: bits of what one copy brought are flipped where it
// arrived, before anybody looks. `copy` and `word` are drawn from all numbers, and are taken modulo
// the copies that the transfer makes and the words that such a copy brings.
struct TransferFault {
  std::size_t transfer = 0;  // which of the test's transfers
  std::uint64_t copy = 0, word = 0;
  std::uint64_t bits = 0;
};
// Where the fault of this seed sits, among `transfers` transfers; one bit or several.
TransferFault place_transfer_fault(std::uint64_t seed, std::size_t transfers);

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

// Words in device memory. Everything runs on `stream`.
class TransferChecker {
 public:
  static Result<TransferChecker> make(Device& device, StreamId stream = {});
  // Started only; finish() says what was filled.
  Result<void> fill(DeviceAddress target, std::uint64_t words, std::uint64_t salt);
  Result<TransferOutcome> check(DeviceAddress base, std::uint64_t words, std::uint64_t salt);
  Result<TransferOutcome> check_sum(DeviceAddress base, std::uint64_t words, std::uint64_t salt_a,
                                    std::uint64_t salt_b, bool halves);
  // Atomic adds are started on several devices before the outcome of any is waited for.
  Result<void> start_atomics(DeviceAddress counters, std::uint64_t count, std::uint64_t adds_each);
  Result<TransferOutcome> finish();
  // `times` fills of two words, each waited for; milliseconds of each.
  Result<TransferOutcome> round_trips(DeviceAddress target, std::uint64_t times, std::uint64_t salt,
                                      std::vector<double>& samples_ms);
  // A fault on purpose.
  Result<void> flip(DeviceAddress word, std::uint64_t bits);
  Result<void> synchronize() { return device_->synchronize(stream_); }

 private:
  TransferChecker(Device& device, StreamId stream, SealedResults results)
      : device_(&device), stream_(stream), results_(std::move(results)) {}
  Result<void> clear();
  Result<void> launch(const Kernel& kernel, std::uint64_t items, const void* params,
                      std::size_t params_bytes);

  Device* device_;
  StreamId stream_;
  SealedResults results_;
};

// Work on this many words by as many threads of this processor as they are worth.
void on_every_thread(std::uint64_t words, const std::function<void(CpuSlice)>& work);
// Words in the host's memory.
TransferOutcome fill_host(void* target, std::uint64_t words, std::uint64_t salt);
TransferOutcome check_host(const void* base, std::uint64_t words, std::uint64_t salt);

// One end of a transfer: memory that a GPU fills and checks, or that this processor does.
class TransferMemory {
 public:
  TransferMemory(TransferChecker& checker, DeviceAddress address)
      : checker_(&checker), owner_(&checker), address_(address) {}
  // Of another GPU, which this one reaches.
  TransferMemory(TransferChecker& checker, DeviceAddress address, TransferChecker& owner)
      : checker_(&checker), owner_(&owner), address_(address) {}
  explicit TransferMemory(void* pages) : address_(reinterpret_cast<DeviceAddress>(pages)) {}
  bool on_host() const { return checker_ == nullptr; }
  // All of them have ended when they return.
  Result<TransferOutcome> fill(std::uint64_t words, std::uint64_t salt) const;
  Result<TransferOutcome> check(std::uint64_t words, std::uint64_t salt) const;
  Result<void> flip(std::uint64_t word, std::uint64_t bits) const;

 private:
  void* pages() const { return reinterpret_cast<void*>(address_); }
  TransferChecker *checker_ = nullptr, *owner_ = nullptr;
  DeviceAddress address_;
};

// What the words of one salt add up to; `words` is even.
constexpr std::uint64_t transfer_sum(std::uint64_t words, std::uint64_t salt) {
  return words / 2 * (words - 1) + words * salt;
}

// True when all `words` words were checked, add up to `sum` and were good. Otherwise the verdict
// has failed, with the first bad words as mismatches of `what`.
bool judge_transfer(Verdict& verdict, std::string_view what, const TransferOutcome& outcome,
                    std::uint64_t words, std::uint64_t sum, std::size_t max_reported);

}  // namespace gpuready
