// The bandwidth test while it runs.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "health/bandwidth/copy.h"
#include "health/bandwidth/link_facts.h"
#include "health/bandwidth/test_bandwidth.h"
#include "health/bandwidth/transfer_run.h"

namespace gpuready {

struct HostTransfer {
  std::string_view what, metric;
  bool to_device, pinned, by_kernel;
};
inline constexpr std::size_t kHostTransfers = 6;
inline constexpr std::array<HostTransfer, kHostTransfers> kHostTransferTable = {{
    {"host to device", "h2d_pinned_rate", true, true, false},
    {"device to host", "d2h_pinned_rate", false, true, false},
    {"host to device, by kernel", "h2d_kernel_rate", true, true, true},
    {"device to host, by kernel", "d2h_kernel_rate", false, true, true},
    {"host to device, pageable", "h2d_pageable_rate", true, false, false},
    {"device to host, pageable", "d2h_pageable_rate", false, false, false},
}};

// What is done is in test_bandwidth.cc, each copy in transfer.cc, what is measured of the link
// besides in link.cc, the copies beside those of the other GPUs in together.cc, what rates must be
// in rules.cc.
class BandwidthTest final : public TransferRun {
 public:
  BandwidthTest(Device& device, Host& host, const TestOptions& options, const TestHooks& hooks)
      : TransferRun("bandwidth", device, options, hooks), host_(host) {}

 private:
  // A host buffer, and the salt of the words that all of it holds.
  struct Pages {
    HostBuffer buffer;
    std::optional<std::uint64_t> holds = std::nullopt;
  };

  Result<void> steps() override;
  Result<bool> set_up();
  Result<bool> round();
  Result<bool> measure_link();
  void conclude();
  std::uint64_t host_bytes_to_take() const;

  Result<bool> transfer(const HostTransfer& how, Pages& pages, std::string what,
                        std::string_view metric);
  Result<void> copy(const HostTransfer& how, const Pages& pages, std::uint64_t bytes);
  void fill(Pages& pages);
  Result<bool> copy_in_device(bool by_kernel);
  TransferMemory on_device(std::uint64_t offset_bytes = 0) {
    return TransferMemory(*checker_, a_->address() + offset_bytes);
  }

  Result<bool> nodes();
  Result<bool> both_ways();
  Result<bool> read_link();
  Result<bool> measure_latency();
  Result<bool> latency(const char* name, bool to_device);
  Result<bool> kernel_round_trip();
  void set_least(const char* name, double ms);

  // Both ways: half of the buffers each.
  std::uint64_t half_bytes() const { return bytes_ / 2 / 16 * 16; }
  Lane lane_in(std::uint64_t bytes), lane_out(std::uint64_t bytes);
  Result<void> copy_in(StreamId stream, std::uint64_t bytes);
  Result<void> copy_out(StreamId stream, std::uint64_t bytes);
  Result<bool> together();

  Host& host_;
  std::uint64_t bytes_ = 0;
  std::vector<int> nodes_;  // measured apart; of one alone nothing is
  std::optional<TransferChecker> checker_;
  std::optional<EventTimer> timer_;
  std::optional<DeviceBuffer> a_, b_;
  std::optional<Pages> pinned_, pageable_;
  std::optional<LinkFacts> link_;
  std::vector<std::string> notes_;
};

}  // namespace gpuready
