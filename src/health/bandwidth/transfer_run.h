// What the bandwidth and peers tests share: no copy counts that was not checked. Each is made into
// words that no other copy brings, is timed alone, and every word of it is checked before the next.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "health/bandwidth/check.h"
#include "health/event_timer.h"
#include "health/test_run.h"

namespace gpuready {

struct CopyEffort {
  double most_ms;  // what would take longer is copied in part
  int copies;      // timed, of which the fastest counts
};

// One way from memory to memory. Both are filled before a copy: the memory of a GPU that receives
// with words that no copy brings. (The host's holds those of another copy.)
struct Lane {
  std::string what;  // as mismatches name it
  TransferMemory from, to;
  std::uint64_t words = 0;
  std::optional<std::uint64_t> holds = std::nullopt;  // `from` has the words of this salt already
};

class TransferRun : public TestRun {
 protected:
  TransferRun(std::string_view test, Device& device, const TestOptions& options,
              const TestHooks& hooks)
      : TestRun(test, device, options, hooks),
        salts_(options.seed ? *options.seed : random_u64()) {}

  // A fault of this class is drawn among this many transfers of a round.
  void draw_fault(FaultClass kind, std::size_t transfers);
  void begin_round() { next_transfer_ = 0; }
  // What follows are this many copies of one transfer.
  void begin_transfer(std::uint64_t copies);
  // One that is not done after all: its fault sits in the next.
  void skip_transfer();

  // Fills, lets `work` copy all lanes and wait for the end of that, and checks each. False when a
  // word is wrong.
  Result<bool> copy_checked(std::span<const Lane> lanes, const std::function<Result<void>()>& work);
  // A transfer of its own: without an effort one copy of at most `most_bytes`; with one as many as
  // it says, after a first one that tells how much is copied in time. `copy` enqueues on the
  // timer's stream. The metric is the best rate of `bytes_moved` for each byte.
  Result<bool> measure(std::string_view metric, EventTimer& timer, Lane lane,
                       std::uint64_t most_bytes,
                       const std::function<Result<void>(std::uint64_t bytes)>& copy,
                       double bytes_moved = 1);
  // What of `most_bytes` is copied at this rate in the time that a copy may take.
  std::uint64_t bytes_in_time(double bytes_per_s, std::uint64_t most_bytes) const;

  TransferSalts salts_;
  std::optional<CopyEffort> effort_;  // absent: nothing is timed
  std::uint64_t verified_bytes_ = 0;

 private:
  bool fault_is_here() const {
    return fault_ && fault_->transfer == transfer_ && fault_->copy % copies_ == copy_;
  }
  // Proven by the words that the threads which filled them counted.
  Result<bool> fill(const Lane& lane, const TransferMemory& memory, std::uint64_t salt);
  Result<void> corrupt(std::span<const Lane> lanes) const;
  bool judge(const Lane& lane, const TransferOutcome& outcome, std::uint64_t salt);

  std::optional<TransferFault> fault_;
  std::size_t transfer_ = 0, next_transfer_ = 0;
  std::uint64_t copies_ = 1, copy_ = 0;
};

}  // namespace gpuready
