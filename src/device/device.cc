#include "device/device.h"

namespace gpuready {
namespace {

std::unexpected<Error> cannot(const Device& device, const char* what) {
  return fail(ErrorKind::unsupported, "the executor " + device.info().executor + ' ' + what);
}

}  // namespace

Result<void> Device::pin(void*, std::uint64_t) { return cannot(*this, "pins no memory"); }
Result<void> Device::unpin(void*) { return cannot(*this, "pins no memory"); }
Result<bool> Device::can_access_peer(const Device&) { return cannot(*this, "has no peers"); }
Result<PeerFacts> Device::peer_facts(const Device&) { return cannot(*this, "has no peers"); }
Result<void> Device::enable_peer_access(Device&) { return cannot(*this, "has no peers"); }
Result<void> Device::copy_from_peer(StreamId, DeviceAddress, Device&, DeviceAddress,
                                    std::uint64_t) {
  return cannot(*this, "has no peers");
}
Result<void> Device::copy_to_peer(StreamId, Device&, DeviceAddress, DeviceAddress, std::uint64_t) {
  return cannot(*this, "has no peers");
}

Result<void> Device::begin_capture(StreamId) { return cannot(*this, "has no graphs"); }
Result<GraphId> Device::end_capture(StreamId) { return cannot(*this, "has no graphs"); }
Result<void> Device::launch_graph(StreamId, GraphId) { return cannot(*this, "has no graphs"); }
Result<void> Device::destroy_graph(GraphId) { return cannot(*this, "has no graphs"); }

Result<StreamTimer> StreamTimer::make(Device& device, StreamId stream) {
  auto start = TRY(device.create_event());
  auto stop = device.create_event();
  if (!stop) {
    (void)device.destroy_event(start);
    return std::unexpected(stop.error());
  }
  return StreamTimer(device, stream, start, *stop);
}

StreamTimer::~StreamTimer() {
  if (!device_) return;
  (void)device_->destroy_event(start_);
  (void)device_->destroy_event(stop_);
}

Result<double> StreamTimer::stop_ms() {
  if (auto recorded = device_->record(stop_, stream_); !recorded) {
    return std::unexpected(recorded.error());
  }
  TRY(device_->synchronize(stream_));
  return device_->elapsed_ms(start_, stop_);
}

}  // namespace gpuready
