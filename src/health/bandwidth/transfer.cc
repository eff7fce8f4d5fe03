// The copies of the bandwidth test one after the other.
#include <fmt/format.h>

#include <algorithm>

#include "health/bandwidth/run.h"

namespace gpuready {
namespace {

constexpr std::uint64_t kNodeBytes = 256 * MiB;
constexpr std::uint64_t kMostCopies = 64;  // within the device

}  // namespace

Result<void> BandwidthTest::copy(const HostTransfer& how, const Pages& pages, std::uint64_t bytes) {
  const DeviceAddress device = a_->address(), host = pages.buffer.address();
  if (how.by_kernel)
    return how.to_device ? copy_by_kernel(device_, {}, device, host, bytes)
                         : copy_by_kernel(device_, {}, host, device, bytes);
  return how.to_device ? device_.copy_to_device({}, device, pages.buffer.data(), bytes)
                       : device_.copy_to_host({}, pages.buffer.data(), device, bytes);
}

void BandwidthTest::fill(Pages& pages) {
  if (pages.holds) return;
  pages.holds = salts_.next();
  fill_host(pages.buffer.data(), pages.buffer.bytes() / 8, *pages.holds);
}

Result<bool> BandwidthTest::transfer(const HostTransfer& how, Pages& pages, std::string what,
                                     std::string_view metric) {
  const TransferMemory host(pages.buffer.data());
  if (how.to_device)
    fill(pages);
  else
    pages.holds.reset();
  const Lane lane = how.to_device ? Lane{std::move(what), host, on_device(), 0, pages.holds}
                                  : Lane{std::move(what), on_device(), host};
  return measure(metric, *timer_, lane, std::min(bytes_, pages.buffer.bytes()),
                 [&](std::uint64_t bytes) { return copy(how, pages, bytes); });
}

Result<bool> BandwidthTest::copy_in_device(bool by_kernel) {
  const char* metric = by_kernel ? "dram_copy_kernel_rate" : "dram_copy_engine_rate";
  const auto effort = effort_;
  if (options_.copy_traffic_bytes == 0) effort_.reset();
  // All copies together move at least the traffic asked for, unless memory is short.
  if (effort_)
    effort_->copies = std::max(
        effort_->copies,
        static_cast<int>(std::min(options_.copy_traffic_bytes / (2 * a_->bytes()), kMostCopies)));
  const Lane lane{phase_, on_device(), TransferMemory(*checker_, b_->address())};
  auto good = measure(
      metric, *timer_, lane, a_->bytes(),
      [&](std::uint64_t bytes) {
        return by_kernel ? copy_by_kernel(device_, {}, b_->address(), a_->address(), bytes, bytes)
                         : device_.copy_on_device({}, b_->address(), a_->address(), bytes);
      },
      2);  // read and written
  effort_ = effort;
  if (const Metric* rate = find_metric(metric)) add_rate("dram_copy_rate", rate->value);
  return good;
}

// Pinned memory of each NUMA node; where there is one, that is what was measured already.
Result<bool> BandwidthTest::nodes() {
  for (const int node : nodes_) {
    auto buffer = HostBuffer::on_node(device_, node, std::min(bytes_, kNodeBytes));
    if (!buffer) {
      const std::string note =
          fmt::format("NUMA node {} not measured: {}", node, buffer.error().message);
      if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(note);
      skip_transfer(), skip_transfer();
      continue;
    }
    Pages pages{std::move(*buffer)};
    for (const HostTransfer& how : std::span(kHostTransferTable).first(2)) {
      const std::string name = fmt::format("{}_node{}", how.metric, node);
      if (!TRY(transfer(how, pages, fmt::format("{}, NUMA node {}", how.what, node), name)))
        return false;
      // The link is judged by its best node.
      if (const Metric* measured = find_metric(name)) add_rate(how.metric, measured->value);
    }
  }
  return true;
}

}  // namespace gpuready
