#include "bench/run/plausibility.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace gpuready::bench {
namespace {

constexpr double kNsInMs = 1e6, kClockHz = 6e9;

// FLOPs a second that no device reaches, several times what the fastest do: of a hardware thread of
// a CPU a cycle (AVX-512: 64 in fp32; AMX: 1024 in bf16), of a GPU in all.
struct Ceiling {
  double cpu_flops_a_cycle, gpu_flops_a_second;
};
Ceiling ceiling_of(const Request& request) {
  // Narrow integers may stand in for the products with -1, 0 and 1.
  if (request.task == Task::ternary) return {16'384, 1e17};
  switch (request.dtype) {
    case Dtype::fp32:
      return {256, 1e15};
    case Dtype::tf32:
      return {256, 1e16};
    case Dtype::bf16:
    case Dtype::fp16:
      break;
  }
  return {4096, 2e16};
}
// From the nearest cache, since inputs may stay there.
constexpr double kCpuBytesACycle = 512, kGpuBytesASecond = 1e15;
// Starting an iteration, however small.
constexpr double kCpuLeastNs = 5, kGpuLeastNs = 100;

// Clocks of devices and hosts differ a little; reading one takes time.
constexpr double kClockShare = 1.05, kClockMs = 1;
// Pieces that fill and empty the queue are not samples: with one sample a block that is two thirds.
constexpr double kLeastShare = 0.2;

// Samples whose stamps are the same were taken together.
struct Block {
  double at_ms = 0, claimed_ms = 0;
};
std::vector<Block> blocks_of(const Answer& answer) {
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < answer.sampled_at_ms.size(); ++i) {
    if (blocks.empty() || answer.sampled_at_ms[i] != blocks.back().at_ms)
      blocks.push_back({answer.sampled_at_ms[i], 0});
    blocks.back().claimed_ms +=
        answer.repeat.samples_ns[i] / kNsInMs * static_cast<double>(answer.iterations_per_sample);
  }
  return blocks;
}

bool of_this_clock(const std::vector<Block>& blocks, Span process) {
  return std::ranges::is_sorted(blocks, {}, &Block::at_ms) &&
         (blocks.empty() || (blocks.front().at_ms >= process.begin_ms - kClockMs &&
                             blocks.back().at_ms <= process.end_ms + kClockMs));
}

// What all samples and iterations took, as it says.
double claimed_ms(const Answer& answer) {
  const Repeat& repeat = answer.repeat;
  if (repeat.samples_ns.empty())
    return repeat.reported.mean_ns.value_or(0) / kNsInMs *
           static_cast<double>(answer.iterations.value_or(1));
  return std::accumulate(repeat.samples_ns.begin(), repeat.samples_ns.end(), 0.0) / kNsInMs *
         static_cast<double>(answer.iterations_per_sample);
}

std::optional<std::string> wrong_with(const Answer& answer, const std::vector<Block>& blocks,
                                      const Request& request, Span process, unsigned threads) {
  const Latency latency = latency_of(answer.repeat);
  const double least = least_iteration_ns(request, threads);
  if (const auto ns = latency.p50_ns ? latency.p50_ns : latency.mean_ns; ns && *ns < least)
    return fmt::format(
        "it says {:.3g} ns an iteration; no {} does this work in less than {:.3g} ns", *ns,
        request.device == "cpu" ? "CPU with these threads" : "GPU", least);
  const double lived = process.end_ms - process.begin_ms, claimed = claimed_ms(answer);
  if (claimed > lived * kClockShare + kClockMs)
    return fmt::format("its iterations took {:.4g} ms, as it says; its process lived {:.4g} ms",
                       claimed, lived);
  if (blocks.size() < 2) return std::nullopt;
  double total = 0, best = 0;
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    total += blocks[i].claimed_ms;
    best = std::max(best, blocks[i].claimed_ms / (blocks[i].at_ms - blocks[i - 1].at_ms));
  }
  const double passed = blocks.back().at_ms - blocks.front().at_ms;
  if (total > passed * kClockShare + kClockMs || best < kLeastShare)
    return fmt::format("its samples took {:.4g} ms, as it says, and {:.4g} ms passed meanwhile",
                       total, passed);
  return std::nullopt;
}

}  // namespace

double least_iteration_ns(const Request& request, unsigned threads) {
  const Workload work = workload_of(request);
  const auto flops = static_cast<double>(work.flops.value_or(0));
  // Ternary weights may be kept in two bits, whatever the dtype.
  const double bytes =
      request.task == Task::ternary ? 0 : static_cast<double>(work.bytes.value_or(0));
  const Ceiling ceiling = ceiling_of(request);
  if (request.device != "cpu")
    return std::max(
        {kGpuLeastNs, flops / ceiling.gpu_flops_a_second * 1e9, bytes / kGpuBytesASecond * 1e9});
  const double cycles = kClockHz * std::max(threads, 1u) / 1e9;  // in a nanosecond
  return std::max({kCpuLeastNs, flops / (cycles * ceiling.cpu_flops_a_cycle),
                   bytes / (cycles * kCpuBytesACycle)});
}

void check_times(Answer& answer, const Request& request, Span process, unsigned threads) {
  if (answer.repeat.status != StackStatus::ok) return;
  auto blocks = blocks_of(answer);
  if (!of_this_clock(blocks, process)) {
    answer.repeat.notes.emplace_back(
        "its samples_at_ms are not of the monotonic clock, and were left out");
    answer.sampled_at_ms.clear();
    blocks.clear();
  }
  auto wrong = wrong_with(answer, blocks, request, process, threads);
  if (!wrong) return;
  answer.repeat.status = StackStatus::not_believable;
  answer.repeat.reason = std::move(*wrong);
}

}  // namespace gpuready::bench
