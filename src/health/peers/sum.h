// A sum over two GPUs through NCCL, where the library is there: exact for integers.
#pragma once

#include "health/bandwidth/transfer_run.h"
#include "health/test.h"

namespace gpuready {

struct PeerSide {
  Device* device;
  TransferChecker* checker;
  DeviceAddress source, target;  // two buffers
};

struct PeerSumOutcome {
  // passed: exact, or no library to test it with (the note says which). failed: the verdict says
  // it. inconclusive: NCCL is there and ended in an error. timed_out: it did not come back.
  VerdictStatus status = VerdictStatus::passed;
  std::string note;
  // A thread in NCCL still uses the devices' memory: nothing of it may be released.
  bool abandoned = false;
};

// 64-bit and 32-bit sums of `bytes` of data on both sides, each checked word by word on both; where
// `effort` is given, those of 64 bits have `timed_bytes`, and their rate is a metric. NCCL runs on
// a thread of its own, which is given up after `limit_ms`; `alive` is called meanwhile, and false
// gives up at once.
Result<PeerSumOutcome> test_peer_sum(const PeerSide& first, const PeerSide& second,
                                     std::uint64_t bytes, std::uint64_t timed_bytes,
                                     TransferSalts& salts, const std::optional<CopyEffort>& effort,
                                     double limit_ms, const std::function<bool()>& alive,
                                     std::size_t max_reported, Verdict& verdict);

}  // namespace gpuready
