#include "health/bandwidth/transfer_run.h"

#include <algorithm>

#include "base/units.h"

namespace gpuready {
namespace {

constexpr std::uint64_t kFirstBytes = 16 * MiB;  // tells how much is copied in time

}  // namespace

void TransferRun::draw_fault(FaultClass kind, std::size_t transfers) {
  if (options_.inject && options_.inject->kind == kind)
    fault_ = place_transfer_fault(options_.inject->seed, transfers);
}

void TransferRun::begin_transfer(std::uint64_t copies) {
  transfer_ = next_transfer_++;
  copies_ = std::max<std::uint64_t>(copies, 1);
  copy_ = 0;
}

void TransferRun::skip_transfer() {
  if (fault_ && fault_->transfer == next_transfer_) ++fault_->transfer;
  ++next_transfer_;
}

bool TransferRun::judge(const Lane& lane, const TransferOutcome& outcome, std::uint64_t salt) {
  verified_bytes_ += outcome.words * 8;
  return judge_transfer(verdict_, lane.what, outcome, lane.words, transfer_sum(lane.words, salt),
                        options_.max_reported);
}

Result<bool> TransferRun::fill(const Lane& lane, const TransferMemory& memory, std::uint64_t salt) {
  return judge_transfer(verdict_, lane.what + ", filled before", TRY(memory.fill(lane.words, salt)),
                        lane.words, transfer_sum(lane.words, salt), options_.max_reported);
}

Result<void> TransferRun::corrupt(std::span<const Lane> lanes) const {
  std::uint64_t words = 0;
  for (const Lane& lane : lanes) words += lane.words;
  std::uint64_t word = fault_->word % words;
  for (const Lane& lane : lanes) {
    if (word < lane.words) return lane.to.flip(word, fault_->bits);
    word -= lane.words;
  }
  return {};
}

Result<bool> TransferRun::copy_checked(std::span<const Lane> lanes,
                                       const std::function<Result<void>()>& work) {
  std::vector<std::uint64_t> salts;
  for (const Lane& lane : lanes) {
    // Else what an earlier copy brought would be taken for this one's.
    if (!lane.to.on_host() && !TRY(fill(lane, lane.to, salts_.next()))) return false;
    salts.push_back(lane.holds ? *lane.holds : salts_.next());
    if (!lane.holds && !TRY(fill(lane, lane.from, salts.back()))) return false;
  }
  TRY(work());
  if (fault_is_here()) TRY(corrupt(lanes));
  ++copy_;
  bool good = true;
  for (std::size_t i = 0; i < lanes.size(); ++i)
    good = judge(lanes[i], TRY(lanes[i].to.check(lanes[i].words, salts[i])), salts[i]) && good;
  return good;
}

std::uint64_t TransferRun::bytes_in_time(double bytes_per_s, std::uint64_t most_bytes) const {
  const double bytes = bytes_per_s * effort_->most_ms / 1e3;
  if (bytes >= static_cast<double>(most_bytes)) return most_bytes;
  return std::max(std::min(kFirstBytes, most_bytes),
                  static_cast<std::uint64_t>(bytes) / 4096 * 4096);
}

Result<bool> TransferRun::measure(std::string_view metric, EventTimer& timer, Lane lane,
                                  std::uint64_t most_bytes,
                                  const std::function<Result<void>(std::uint64_t bytes)>& copy,
                                  double bytes_moved) {
  const int copies = effort_ ? 1 + effort_->copies : 1;
  begin_transfer(static_cast<std::uint64_t>(copies));
  std::uint64_t bytes = effort_ ? std::min(kFirstBytes, most_bytes) : most_bytes;
  double best = 0;
  for (int i = 0; i < copies; ++i) {
    lane.words = bytes / 8;
    double ms = 0;
    const bool good = TRY(copy_checked({&lane, 1}, [&]() -> Result<void> {
      TRY(timer.start());
      TRY(copy(bytes));
      ms = TRY(timer.stop_ms());
      return {};
    }));
    if (!good) return false;
    if (!effort_) break;
    const double rate = ms > 0 ? static_cast<double>(bytes) / (ms / 1e3) : 0;
    if (i == 0)
      bytes = bytes_in_time(rate, most_bytes);
    else
      best = std::max(best, rate);
  }
  add_rate(metric, best * bytes_moved);
  return true;
}

}  // namespace gpuready
