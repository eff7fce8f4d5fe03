#include "health/tensor/run.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "base/units.h"

namespace gpuready {
namespace {

// Dynamic shared memory that leaves room for one block an SM, the least that does: half of what an
// SM of some generation has, and a bit.
constexpr std::array<unsigned, 5> kSharedSteps = {0, 33 * 1024, 51 * 1024, 84 * 1024, 115 * 1024};

Result<unsigned> shared_for_one_block(Device& device, const TensorForm& form) {
  if (form.shared_bytes() > 0) return form.shared_bytes();  // more than half of any SM's
  for (const unsigned bytes : kSharedSteps) {
    auto blocks = device.resident_blocks(*form.kernel, form.threads(), bytes);
    if (!blocks || *blocks == 1) return blocks ? Result<unsigned>(bytes) : blocks;
  }
  return 0u;  // then two blocks may share an SM, which the coverage of SMs tells
}

}  // namespace

TensorRunner::TensorRunner(Device& device, std::shared_ptr<const TensorCase> data,
                           DeviceBuffer image, SealedResults results, EventTimer timer,
                           LaunchShape shape)
    : device_(&device),
      data_(std::move(data)),
      image_(std::move(image)),
      results_(std::move(results)),
      timer_(std::move(timer)),
      shape_(shape),
      host_(offsetof(TensorResults, units) + shape.blocks * sizeof(TensorUnit)) {}

Result<TensorRunner> TensorRunner::make(Device& device, std::shared_ptr<const TensorCase> data) {
  const TensorForm& form = data->form();
  const DeviceInfo& info = device.info();
  if (info.units > kTensorMaxUnits)
    return fail(ErrorKind::unsupported, "the GPU has more SMs than the tensor test can record");
  TRY(device.prepare(*form.kernel));
  auto shared = TRY(shared_for_one_block(device, form));
  auto image = TRY(DeviceBuffer::make(device, data->image().size()));
  auto results = TRY(SealedResults::make(device, StreamId{}, sizeof(TensorResults)));
  auto timer = TRY(EventTimer::make(device, StreamId{}));
  if (auto copied = device.copy_to_device(StreamId{}, image.address(), data->image().data(),
                                          data->image().size());
      !copied)
    return std::unexpected(copied.error());
  // Not all bits of an operand change its products.
  TRY(results.prove(image.address(), data->image().data(), data->image().size()));
  const LaunchShape shape{info.units, form.threads(), shared,
                          info.cooperative_launch.value_or(false)};
  return TensorRunner(device, std::move(data), std::move(image), std::move(results),
                      std::move(timer), shape);
}

std::uint64_t TensorRunner::rounded(std::uint64_t chains) {
  return std::max<std::uint64_t>(1, (chains + kTensorRotations - 1) / kTensorRotations) *
         kTensorRotations;
}
std::uint64_t TensorRunner::predicted(std::uint64_t chains) const {
  return rounded(chains) * shape_.blocks * form().threads();
}
double TensorRunner::operations(std::uint64_t chains) const {
  return static_cast<double>(rounded(chains)) * shape_.blocks * form().operations();
}

Result<TensorLaunch> TensorRunner::launch(std::uint64_t chains, const TensorFault& fault) {
  const TensorParams params{
      image_.address(), results_.address(), rounded(chains), form().rotations() - 1u, fault.kind,
      fault.unit,       fault.thread,       fault.chain,     fault.element,           fault.bits};
  const StreamId stream{};
  TRY(results_.reset(host_.size()));
  TRY(timer_.start());
  TRY(device_->launch(stream, *form().kernel, shape_, &params, sizeof params));
  const double ms = TRY(timer_.stop_ms());
  TRY(results_.read(host_.data(), host_.size()));

  TensorLaunch launch;
  launch.ms = ms;
  std::memcpy(&launch.bad, host_.data() + offsetof(TensorResults, bad), sizeof launch.bad);
  launch.units.resize(shape_.blocks);
  std::memcpy(launch.units.data(), host_.data() + offsetof(TensorResults, units),
              shape_.blocks * sizeof(TensorUnit));
  for (const TensorUnit& unit : launch.units) launch.good += unit.good;
  const auto recorded = std::min<std::uint64_t>(launch.bad, kTensorMismatchCapacity);
  if (recorded == 0) return launch;
  launch.mismatches.resize(recorded);
  TRY(results_.read(launch.mismatches.data(), recorded * sizeof(TensorMismatch),
                    offsetof(TensorResults, mismatches)));
  return launch;
}

}  // namespace gpuready
