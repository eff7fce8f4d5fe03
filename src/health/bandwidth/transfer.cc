// The copies of the bandwidth test, each of them checked and, where that is asked for, timed.
#include <fmt/format.h>

#include <algorithm>

#include "health/bandwidth/run.h"

namespace gpuready {
namespace {

constexpr std::uint64_t kProbeBytes = 16 * MiB;  // tells how much a slow link can copy in time
constexpr double kCopyMs = 250;                  // no single copy takes longer
constexpr std::uint64_t kNodeBytes = 256 * MiB;

}  // namespace

bool BandwidthTest::judge(std::string_view what, const TransferOutcome& outcome,
                          std::uint64_t words, std::uint64_t salt) {
  verified_bytes_ += outcome.words * 8;
  return judge_transfer(verdict_, what, outcome, words, transfer_sum(words, salt),
                        options_.max_reported);
}

Result<void> BandwidthTest::copy(const HostTransfer& how, const Pages& pages, std::uint64_t bytes) {
  const DeviceAddress device = a_->address(), host = pages.buffer.address();
  if (how.by_kernel)
    return how.to_device ? copy_by_kernel(device_, {}, device, host, bytes)
                         : copy_by_kernel(device_, {}, host, device, bytes);
  return how.to_device ? device_.copy_to_device({}, device, pages.buffer.data(), bytes)
                       : device_.copy_to_host({}, pages.buffer.data(), device, bytes);
}

// What of `bytes` is copied in the time that a copy may take.
Result<std::uint64_t> BandwidthTest::bytes_in_time(const HostTransfer& how, const Pages& pages,
                                                   std::uint64_t bytes) {
  if (auto done = timer_->start(); !done) return std::unexpected(done.error());
  if (auto done = copy(how, pages, kProbeBytes); !done) return std::unexpected(done.error());
  auto ms = timer_->stop_ms();
  if (!ms) return std::unexpected(ms.error());
  const double most = static_cast<double>(kProbeBytes) * kCopyMs / std::max(*ms, 1e-3);
  if (most >= static_cast<double>(bytes)) return bytes;
  return std::max(kProbeBytes, static_cast<std::uint64_t>(most) / 4096 * 4096);
}

Result<bool> BandwidthTest::transfer(const HostTransfer& how, Pages& pages, std::string_view what,
                                     std::string_view metric,
                                     const std::optional<TransferFault>& fault) {
  if (!how.to_device) pages.filled = false;
  std::uint64_t bytes = std::min(bytes_, pages.buffer.bytes());
  if (rate_effort_ && !fault && bytes > kProbeBytes) {
    auto fewer = bytes_in_time(how, pages, bytes);
    if (!fewer) return std::unexpected(fewer.error());
    bytes = *fewer;
  }
  const std::uint64_t words = bytes / 8;
  // The receiving side holds another transfer's words before, and the sending side this one's.
  const std::uint64_t on_device = salts_.next();
  if (how.to_device && !pages.filled) {
    pages.salt = salts_.next();
    fill_host(pages.buffer.data(), pages.buffer.bytes() / 8, pages.salt);
    pages.filled = true;
  }
  if (auto done = checker_->fill(a_->address(), words, on_device); !done)
    return std::unexpected(done.error());
  auto rate = best_rate(*timer_, static_cast<double>(bytes), rate_effort_,
                        [&] { return copy(how, pages, bytes); });
  if (!rate) return std::unexpected(rate.error());
  add_rate(metric, *rate);
  if (how.to_device) {
    auto outcome = checker_->check(a_->address(), words, pages.salt, fault);
    if (!outcome) return std::unexpected(outcome.error());
    return judge(what, *outcome, words, pages.salt);
  }
  if (auto done = device_.synchronize({}); !done) return std::unexpected(done.error());
  return judge(what, check_host(pages.buffer.data(), words, on_device, fault), words, on_device);
}

Result<bool> BandwidthTest::copy_in_device(bool by_kernel) {
  const std::uint64_t bytes = a_->bytes(), words = bytes / 8;
  const std::uint64_t salt = salts_.next();
  for (const auto& [buffer, with] : {std::pair(&a_, salt), std::pair(&b_, salts_.next())})
    if (auto done = checker_->fill((*buffer)->address(), words, with); !done)
      return std::unexpected(done.error());
  const auto effort = options_.copy_traffic_bytes > 0 ? rate_effort_ : std::nullopt;
  // A batch moves at least the traffic asked for, however fast it is.
  const std::uint64_t copies =
      effort ? (options_.copy_traffic_bytes + 2 * bytes - 1) / (2 * bytes) : 1;
  auto rate =
      best_rate(*timer_, static_cast<double>(2 * bytes * copies), effort, [&]() -> Result<void> {
        Result<void> done;
        for (std::uint64_t i = 0; i < copies && done; ++i)
          done = by_kernel ? copy_by_kernel(device_, {}, b_->address(), a_->address(), bytes, bytes)
                           : device_.copy_on_device({}, b_->address(), a_->address(), bytes);
        return done;
      });
  if (!rate) return std::unexpected(rate.error());
  add_rate(by_kernel ? "dram_copy_kernel_rate" : "dram_copy_engine_rate", *rate);
  add_rate("dram_copy_rate", *rate);
  auto outcome = checker_->check(b_->address(), words, salt);
  if (!outcome) return std::unexpected(outcome.error());
  return judge(phase_, *outcome, words, salt);
}

// Pinned memory of each NUMA node; where there is one, that is what was measured already.
Result<bool> BandwidthTest::nodes() {
  const auto nodes = memory_nodes(host_);
  if (nodes.size() < 2) return true;
  for (const int node : nodes) {
    auto buffer = HostBuffer::on_node(device_, node, std::min(bytes_, kNodeBytes));
    if (!buffer) {
      const std::string note =
          fmt::format("NUMA node {} not measured: {}", node, buffer.error().message);
      if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(note);
      continue;
    }
    Pages pages{std::move(*buffer)};
    for (const HostTransfer& how : std::span(kHostTransferTable).first(2)) {
      const std::string name = fmt::format("{}_node{}", how.metric, node);
      auto good =
          transfer(how, pages, fmt::format("{}, NUMA node {}", how.what, node), name, std::nullopt);
      if (!good || !*good) return good;
      // The link is judged by its best node.
      if (const Metric* measured = find_metric(name)) add_rate(how.metric, measured->value);
    }
  }
  return true;
}

}  // namespace gpuready
