#include "health/sealed_results.h"

#include <fmt/format.h>

#include "base/random.h"
#include "base/units.h"
#include "kernels/record_kernel.h"

namespace gpuready {
namespace {

constexpr std::uint64_t kNoOnes = ~0ull;
constexpr int kCorruption = -1;  // no driver's number

Error corruption(std::string message) { return {ErrorKind::io, std::move(message), kCorruption}; }

}  // namespace

bool is_corruption(const Error& error) {
  return error.kind == ErrorKind::io && error.code == kCorruption;
}

SealedResults::SealedResults(Device& device, StreamId stream, DeviceBuffer buffer)
    : device_(&device), stream_(stream), buffer_(std::move(buffer)), nonce_(random_u64()) {}

Result<SealedResults> SealedResults::make(Device& device, StreamId stream, std::uint64_t bytes) {
  TRY(device.prepare(kRecord));
  auto buffer = TRY(DeviceBuffer::make(device, kFrontBytes + bytes));
  return SealedResults(device, stream, std::move(buffer));
}

DeviceAddress SealedResults::seal_address() const { return address() - sizeof(RecordSeal); }

Result<void> SealedResults::launch(unsigned long long work, DeviceAddress address,
                                   std::uint64_t bytes, std::optional<std::uint64_t> ones_at) {
  const RecordParams params{address,        bytes / 8, ++nonce_,
                            seal_address(), work,      ones_at ? *ones_at / 8 : kNoOnes};
  LaunchShape shape;
  shape.threads = kRecordThreads;
  return device_->launch(stream_, kRecord, shape, &params, sizeof params);
}

Result<void> SealedResults::reset(std::uint64_t bytes, std::optional<std::uint64_t> ones_at) {
  TRY(launch(kRecordReset, address(), bytes, ones_at));
  reset_nonce_ = nonce_;
  return {};
}

// Read at most twice: a second look tells a bad copy from bad words.
Result<void> SealedResults::fetch(DeviceAddress source, std::uint64_t bytes, void* target,
                                  const void* words) {
  if (reset_nonce_ == 0) TRY(reset(0));
  TRY(launch(kRecordSeal, source, bytes, std::nullopt));
  RecordSeal seal{};
  for (const bool again : {false, true}) {
    TRY(device_->copy_to_host(stream_, &seal, seal_address(), sizeof seal));
    if (target) TRY(device_->copy_to_host(stream_, target, source, bytes));
    TRY(device_->synchronize(stream_));
    if (seal.reset_nonce != reset_nonce_ || seal.seal_nonce != nonce_ || seal.words != bytes / 8 ||
        seal.checksum != record_checksum(words, bytes / 8))
      continue;
    if (!again) return {};
    return corruption(
        "a copy of results from the device was corrupt: its checksum was not the one that the "
        "device "
        "had made; a second copy was right");
  }
  if (seal.seal_nonce != nonce_)
    return corruption("a launch did nothing: the device did not seal its results");
  if (seal.reset_nonce != reset_nonce_)
    return corruption("a launch did nothing: the device did not reset its results");
  return corruption(fmt::format("{} {}: the device's checksum of them is {:#x}, the host's {:#x}",
                                format_bytes(bytes),
                                target ? "of results are other words in each copy"
                                       : "on the device are not those that the host sent",
                                seal.checksum, record_checksum(words, bytes / 8)));
}

}  // namespace gpuready
