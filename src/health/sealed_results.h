// Results of kernels on their way to the host. The device resets them itself, and seals them with a
// checksum before each copy; both launches leave a nonce. So a corrupt copy, a lost launch and a
// reset that did nothing are told from good results, whatever they change.
#pragma once

#include <cstdint>
#include <optional>

#include "device/device.h"

namespace gpuready {

class SealedResults {
 public:
  static Result<SealedResults> make(Device& device, StreamId stream, std::uint64_t bytes);
  DeviceAddress address() const { return buffer_.address() + kFrontBytes; }
  std::uint64_t bytes() const { return buffer_.bytes() - kFrontBytes; }

  // Everything below counts in whole 64-bit words. The first `bytes` become 0, and the word at
  // `ones_at` all ones.
  Result<void> reset(std::uint64_t bytes, std::optional<std::uint64_t> ones_at = std::nullopt);
  // `bytes` from `at` on, after all that the stream was given before.
  Result<void> read(void* target, std::uint64_t bytes, std::uint64_t at = 0) {
    return read_from(target, address() + at, bytes);
  }
  // The same of any device memory.
  Result<void> read_from(void* target, DeviceAddress source, std::uint64_t bytes) {
    return fetch(source, bytes, target, target);
  }
  // Proves that the device holds these bytes, which were copied there.
  Result<void> prove(DeviceAddress target, const void* sent, std::uint64_t bytes) {
    return fetch(target, bytes, nullptr, sent);
  }

 private:
  // The results stay aligned to the slots of 128 bytes that kernels add to; the seal is before
  // them.
  static constexpr std::uint64_t kFrontBytes = 256;

  SealedResults(Device& device, StreamId stream, DeviceBuffer buffer);
  DeviceAddress seal_address() const;
  Result<void> launch(unsigned long long work, DeviceAddress address, std::uint64_t bytes,
                      std::optional<std::uint64_t> ones_at);
  // Seals, and holds `words` against the seal; copies them to `target` before, unless it is null.
  Result<void> fetch(DeviceAddress source, std::uint64_t bytes, void* target, const void* words);

  Device* device_;
  StreamId stream_;
  DeviceBuffer buffer_;
  std::uint64_t nonce_, reset_nonce_ = 0;  // 0: not yet reset
};

// Whether an error says that results or their copy are not what the device made: the device failed.
bool is_corruption(const Error& error);

}  // namespace gpuready
