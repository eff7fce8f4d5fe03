#include "health/compute/speed.h"

#include "base/random.h"

namespace gpuready {

Result<SpeedMeter> SpeedMeter::make(Device& device) {
  TRY(device.prepare(kRate));
  const LaunchShape shape{.blocks = device.info().units, .threads = kRateThreads};
  auto records = TRY(SealedResults::make(device, StreamId{}, shape.blocks * sizeof(RateRecord)));
  return SpeedMeter(device, std::move(records), shape, random_u64());
}

Result<std::vector<RateRecord>> SpeedMeter::run(std::uint64_t idle) {
  const RateParams params{records_.address(), ++nonce_, kRounds, 1, 1, idle};
  TRY(device_->launch({}, kRate, shape_, &params, sizeof params));
  std::vector<RateRecord> records(shape_.blocks);
  TRY(records_.read(records.data(), records.size() * sizeof records[0]));
  return records;
}

double SpeedMeter::per_cycle(const RateRecord& record) {
  return record.ticks == 0
             ? 0
             : static_cast<double>(rate_operations(kRounds)) / static_cast<double>(record.ticks);
}

}  // namespace gpuready
