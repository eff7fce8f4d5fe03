#include "device/device.h"

namespace gpuready {

Result<StreamTimer> StreamTimer::make(Device& device, StreamId stream) {
  auto start = device.create_event();
  if (!start) return std::unexpected(start.error());
  auto stop = device.create_event();
  if (!stop) {
    (void)device.destroy_event(*start);
    return std::unexpected(stop.error());
  }
  return StreamTimer(device, stream, *start, *stop);
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
  if (auto done = device_->synchronize(stream_); !done) return std::unexpected(done.error());
  return device_->elapsed_ms(start_, stop_);
}

}  // namespace gpuready
