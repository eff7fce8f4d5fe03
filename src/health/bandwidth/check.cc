#include "health/bandwidth/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <thread>

#include "base/clock.h"
#include "base/random.h"
#include "base/units.h"

namespace gpuready {
namespace {

constexpr std::uint64_t kHeaderBytes = offsetof(TransferResults, entries);
constexpr unsigned kBlocksPerUnit = 8;
constexpr unsigned kMostHostThreads = 8;
constexpr std::uint64_t kWordsPerHostThread = MiB / 8;  // fewer are not worth a thread

TransferResults cleared() {
  TransferResults results{};
  results.first_bad_index = ~0ull;
  return results;
}

TransferOutcome outcome_of(const TransferResults& results) {
  TransferOutcome outcome{results.words_checked, results.sum, results.bad_words, {}};
  const auto recorded = std::min<std::uint64_t>(results.recorded, kTransferBadWordCapacity);
  outcome.bad.assign(results.entries, results.entries + recorded);
  std::sort(outcome.bad.begin(), outcome.bad.end(),
            [](const auto& a, const auto& b) { return a.index < b.index; });
  return outcome;
}

}  // namespace

TransferFault place_transfer_fault(std::uint64_t seed, std::size_t transfers) {
  SplitMix64 numbers(seed);
  TransferFault fault;
  fault.transfer = static_cast<std::size_t>(numbers.next() % transfers);
  fault.copy = numbers.next();
  fault.word = numbers.next();
  const std::uint64_t draw = numbers.next();
  fault.bits = draw % 2 == 0 ? std::uint64_t{1} << (draw >> 1) % 64 : numbers.next();
  if (fault.bits == 0) fault.bits = 1;
  return fault;
}

Result<TransferChecker> TransferChecker::make(Device& device, StreamId stream) {
  for (const Kernel* kernel : {&kTransferFill, &kTransferCheck})
    if (auto ready = device.prepare(*kernel); !ready) return std::unexpected(ready.error());
  auto results = TRY(SealedResults::make(device, stream, sizeof(TransferResults)));
  return TransferChecker(device, stream, std::move(results));
}

Result<void> TransferChecker::launch(const Kernel& kernel, std::uint64_t items, const void* params,
                                     std::size_t params_bytes) {
  LaunchShape shape;
  shape.threads = kTransferKernelThreads;
  shape.blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(
      items / kTransferKernelThreads, 1, std::uint64_t{device_->info().units} * kBlocksPerUnit));
  return device_->launch(stream_, kernel, shape, params, params_bytes);
}

Result<void> TransferChecker::clear() {
  return results_.reset(kHeaderBytes, offsetof(TransferResults, first_bad_index));
}

Result<void> TransferChecker::fill(DeviceAddress target, std::uint64_t words, std::uint64_t salt) {
  const TransferFillParams params{target, words, salt, results_.address()};
  TRY(clear());
  return launch(kTransferFill, words / 2, &params, sizeof params);
}

Result<TransferOutcome> TransferChecker::round_trips(DeviceAddress target, std::uint64_t times,
                                                     std::uint64_t salt,
                                                     std::vector<double>& samples_ms) {
  const TransferFillParams params{target, 2, salt, results_.address()};
  TRY(clear());
  TRY(synchronize());
  for (std::uint64_t i = 0; i < times; ++i) {
    const auto start = Clock::now();
    TRY(launch(kTransferFill, 1, &params, sizeof params));
    TRY(synchronize());
    samples_ms.push_back(elapsed_ms(start));
  }
  return finish();
}

Result<TransferOutcome> TransferChecker::check(DeviceAddress base, std::uint64_t words,
                                               std::uint64_t salt) {
  const TransferCheckParams params{base, words, salt, results_.address()};
  TRY(clear());
  TRY(launch(kTransferCheck, words / 2, &params, sizeof params));
  return finish();
}

Result<TransferOutcome> TransferChecker::check_sum(DeviceAddress base, std::uint64_t words,
                                                   std::uint64_t salt_a, std::uint64_t salt_b,
                                                   bool halves) {
  const TransferSumParams params{
      base, words, salt_a, salt_b, halves ? 1ull : 0ull, results_.address()};
  TRY(clear());
  TRY(launch(kTransferCheckSum, words, &params, sizeof params));
  return finish();
}

Result<void> TransferChecker::start_atomics(DeviceAddress counters, std::uint64_t count,
                                            std::uint64_t adds_each) {
  const PeerAtomicsParams params{counters, count, adds_each, results_.address()};
  TRY(clear());
  return launch(kPeerAtomics, count * adds_each, &params, sizeof params);
}

Result<TransferOutcome> TransferChecker::finish() {
  TransferResults results{};
  TRY(results_.read(&results, kHeaderBytes));
  if (results.recorded > 0)
    TRY(results_.read(results.entries,
                      std::min<std::uint64_t>(results.recorded, kTransferBadWordCapacity) *
                          sizeof(TransferBadWord),
                      kHeaderBytes));
  return outcome_of(results);
}

Result<void> TransferChecker::flip(DeviceAddress word, std::uint64_t bits) {
  std::uint64_t value = 0;
  TRY(device_->copy_to_host(stream_, &value, word, sizeof value));
  TRY(synchronize());
  value ^= bits;
  TRY(device_->copy_to_device(stream_, word, &value, sizeof value));
  return synchronize();
}

void on_every_thread(std::uint64_t words, const std::function<void(CpuSlice)>& work) {
  const unsigned count = static_cast<unsigned>(std::clamp<std::uint64_t>(
      words / kWordsPerHostThread, 1,
      std::clamp(std::thread::hardware_concurrency(), 1u, kMostHostThreads)));
  std::vector<std::jthread> threads;
  for (unsigned index = 1; index < count; ++index)
    threads.emplace_back([&work, index, count] { work(CpuSlice{index, count}); });
  work(CpuSlice{0, count});
}

TransferOutcome fill_host(void* target, std::uint64_t words, std::uint64_t salt) {
  TransferResults results = cleared();
  const TransferFillParams params{reinterpret_cast<std::uint64_t>(target), words, salt,
                                  reinterpret_cast<std::uint64_t>(&results)};
  on_every_thread(words, [&](CpuSlice slice) { cpu_transfer_fill(&params, slice); });
  return outcome_of(results);
}

TransferOutcome check_host(const void* base, std::uint64_t words, std::uint64_t salt) {
  TransferResults results = cleared();
  const TransferCheckParams params{reinterpret_cast<std::uint64_t>(base), words, salt,
                                   reinterpret_cast<std::uint64_t>(&results)};
  on_every_thread(words, [&](CpuSlice slice) { cpu_transfer_check(&params, slice); });
  return outcome_of(results);
}

Result<TransferOutcome> TransferMemory::fill(std::uint64_t words, std::uint64_t salt) const {
  if (on_host()) return fill_host(pages(), words, salt);
  TRY(checker_->fill(address_, words, salt));
  return checker_->finish();
}

Result<TransferOutcome> TransferMemory::check(std::uint64_t words, std::uint64_t salt) const {
  return on_host() ? check_host(pages(), words, salt) : checker_->check(address_, words, salt);
}

Result<void> TransferMemory::flip(std::uint64_t word, std::uint64_t bits) const {
  if (!on_host()) return owner_->flip(address_ + word * 8, bits);
  static_cast<std::uint64_t*>(pages())[word] ^= bits;
  return {};
}

bool judge_transfer(Verdict& verdict, std::string_view what, const TransferOutcome& outcome,
                    std::uint64_t words, std::uint64_t sum, std::size_t max_reported) {
  verdict.mismatches_total += outcome.bad_words;
  for (const TransferBadWord& word : outcome.bad) {
    if (verdict.mismatches.size() >= max_reported) break;
    verdict.mismatches.push_back(
        {std::string(what), std::nullopt, word.index, word.expected, word.actual});
  }
  if (outcome.bad_words > 0) {
    verdict.reason =
        fmt::format("{}: {} of {} words did not arrive as sent", what, outcome.bad_words, words);
    if (!outcome.bad.empty()) {
      const TransferBadWord& first = outcome.bad.front();
      verdict.reason +=
          fmt::format("; the first is word {} (offset {:#x}): {:#018x} instead of {:#018x}",
                      first.index, first.index * 8, first.actual, first.expected);
    }
  } else if (outcome.words != words) {
    verdict.reason =
        fmt::format("{}: {} words were checked where {} were to be", what, outcome.words, words);
  } else if (outcome.sum != sum) {
    verdict.reason = fmt::format(
        "{}: the checksum of what was read is {:#x}, not {:#x}, though no word was seen to be bad",
        what, outcome.sum, sum);
  } else {
    return true;
  }
  verdict.status = VerdictStatus::failed;
  return false;
}

}  // namespace gpuready
