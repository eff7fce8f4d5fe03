// The peers test while it runs.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "health/bandwidth/copy.h"
#include "health/bandwidth/transfer_run.h"
#include "health/peers/test_peers.h"

namespace gpuready {

inline constexpr std::uint64_t kPeerCounters = 1024;  // of the atomics, in each GPU's memory

// One GPU of the pair.
struct PeerGpu {
  Device* device = nullptr;
  std::optional<TransferChecker> checker = {};
  std::optional<EventTimer> timer = {};
  std::optional<DeviceBuffer> source = {}, target = {};
};

enum class PeerWay { loads, stores, push_engine, pull_engine, push_kernel, pull_kernel };
struct PeerTransfer {
  PeerWay way;
  std::string_view what, metric;  // of the acting GPU; no metric: not timed
};

// What is done is in test_peers.cc, each transfer in transfer.cc.
class PeersTest final : public TransferRun {
 public:
  PeersTest(Device& first, Device& second, const TestOptions& options, const TestHooks& hooks)
      : TransferRun("peers", first, options, hooks), sides_{PeerGpu{&first}, PeerGpu{&second}} {
    verdict_.peer_uuid = second.info().uuid;
  }

 private:
  Result<void> steps() override;
  void finish() override;
  Result<bool> reach();
  Result<bool> set_up();
  Result<void> set_up(PeerGpu& side);
  Result<bool> round();
  Result<bool> sum();
  std::string path() const;
  std::vector<std::string> judge_rates();
  void conclude();
  bool nvlink_told() const { return options_.peer_path && options_.peer_path->starts_with("NV"); }

  Result<bool> transfer(PeerGpu& actor, PeerGpu& other, const PeerTransfer& how, bool back);
  Result<void> copy(PeerGpu& actor, PeerGpu& other, PeerWay way, std::uint64_t bytes,
                    StreamId stream);
  Result<bool> atomics(PeerGpu& owner);
  Result<bool> have_atomics();
  Result<bool> both_ways(bool by_kernel);

  std::array<PeerGpu, 2> sides_;
  std::uint64_t bytes_ = 0;  // of each buffer
  double best_rate_ = 0;     // one way
  bool atomics_tested_ = false, abandoned_ = false;
  PeerFacts facts_;
  std::vector<std::string> notes_;
};

}  // namespace gpuready
