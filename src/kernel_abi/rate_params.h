// What the host and the kernel that measures an SM's speed tell each other. Plain structs, at most
// 128 bytes of parameters.
//
// Every thread of a block, one block an SM, adds up in several chains by fused multiply-adds that
// do not wait for each other. All numbers are integers below 2^24: sums are exact, and the host
// predicts what those of a block add up to.
#pragma once

namespace gpuready {

inline constexpr unsigned kRateThreads = 1024, kRateChains = 8, kRateSteps = 32;

struct RateParams {
  unsigned long long records_address;  // of one RateRecord a block
  unsigned long long nonce;            // of this launch; comes back in each record
  unsigned long long rounds;           // of kRateSteps steps of each chain
  float factor, step;                  // each step: sum = sum * factor + step; both are 1
  // Fault injection, zero in production: after each round the SM idles for this many times as long.
  unsigned long long fault_idle;
};
static_assert(sizeof(RateParams) <= 128);

struct RateRecord {
  unsigned long long nonce;  // written last
  unsigned long long ticks;  // clock cycles for all rounds
  unsigned long long sum;    // of all chains of all threads
  unsigned unit_at_start, unit_at_end;
};

// Multiply-adds of a block.
constexpr unsigned long long rate_operations(unsigned long long rounds) {
  return rounds * kRateThreads * kRateChains * kRateSteps;
}
// Chain k of thread t starts at t * kRateChains + k.
constexpr unsigned long long rate_sum(unsigned long long rounds) {
  constexpr unsigned long long kChains = kRateThreads * kRateChains;
  return kChains * (kChains - 1) / 2 + rate_operations(rounds);
}

}  // namespace gpuready
