// The bandwidth test while it runs.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "health/bandwidth/check.h"
#include "health/bandwidth/link_facts.h"
#include "health/bandwidth/rate.h"
#include "health/bandwidth/test_bandwidth.h"
#include "health/test_run.h"

namespace gpuready {

struct HostTransfer {
  std::string_view what, metric;
  bool to_device, pinned, by_kernel;
};
inline constexpr std::array<HostTransfer, kHostTransfers> kHostTransferTable = {{
    {"host to device", "h2d_pinned_rate", true, true, false},
    {"device to host", "d2h_pinned_rate", false, true, false},
    {"host to device, by kernel", "h2d_kernel_rate", true, true, true},
    {"device to host, by kernel", "d2h_kernel_rate", false, true, true},
    {"host to device, pageable", "h2d_pageable_rate", true, false, false},
    {"device to host, pageable", "d2h_pageable_rate", false, false, false},
}};

// What is done is in bandwidth_test.cc, each copy in bandwidth_transfer.cc, what is measured of the
// link besides in bandwidth_link.cc, what rates must be in bandwidth_rules.cc.
class BandwidthTest final : public TestRun {
 public:
  BandwidthTest(Device& device, Host& host, const TestOptions& options, const TestHooks& hooks)
      : TestRun("bandwidth", device, options, hooks),
        host_(host),
        salts_(options.seed ? *options.seed : random_u64()) {}

 private:
  // A host buffer with what it holds.
  struct Pages {
    HostBuffer buffer;
    std::uint64_t salt = 0;
    bool filled = false;
  };

  Result<void> steps() override;
  Result<bool> set_up();
  Result<bool> round();
  Result<bool> measure_link();
  void conclude();
  std::uint64_t host_bytes_to_take() const;

  Result<bool> transfer(const HostTransfer& how, Pages& pages, std::string_view what,
                        std::string_view metric, const std::optional<TransferFault>& fault);
  Result<void> copy(const HostTransfer& how, const Pages& pages, std::uint64_t bytes);
  Result<std::uint64_t> bytes_in_time(const HostTransfer& how, const Pages& pages,
                                      std::uint64_t bytes);
  Result<bool> copy_in_device(bool by_kernel);
  bool judge(std::string_view what, const TransferOutcome& outcome, std::uint64_t words,
             std::uint64_t salt);

  Result<bool> nodes();
  Result<void> both_ways();
  Result<void> read_link();
  Result<void> measure_latency();

  Host& host_;
  TransferSalts salts_;
  std::optional<RateEffort> rate_effort_;  // absent: nothing is timed
  std::uint64_t verified_bytes_ = 0, bytes_ = 0;
  std::optional<TransferFault> fault_;
  std::optional<TransferChecker> checker_;
  std::optional<StreamTimer> timer_;
  std::optional<DeviceBuffer> a_, b_;
  std::optional<Pages> pinned_, pageable_;
  std::optional<LinkFacts> link_;
  std::vector<std::string> notes_;
};

}  // namespace gpuready
