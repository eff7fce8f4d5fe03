// Results that change on their way to the host, or were never made, are told from good ones.
#include "health/sealed_results.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "kernels/record_kernel.h"
#include "unit/health/forwarding_device.h"

namespace gpuready {
namespace {

using Words = std::array<std::uint64_t, 6>;
constexpr Words kWords = {1, 0, ~0ull, 0x8000000000000000ull, 4, 0};

// Copies to the host and launches are numbered from 0, and may be changed.
class WatchedDevice final : public ForwardingDevice {
 public:
  WatchedDevice() : ForwardingDevice(1, 64 * MiB) {}
  Result<void> copy_to_host(StreamId stream, void* target, DeviceAddress source,
                            std::uint64_t bytes) override {
    auto done = inner_->copy_to_host(stream, target, source, bytes);
    if (change) change(copies++, static_cast<unsigned char*>(target), bytes);
    return done;
  }
  Result<void> launch(StreamId stream, const Kernel& kernel, const LaunchShape& shape,
                      const void* params, std::size_t bytes) override {
    if (launches++ == lost) return {};
    return inner_->launch(stream, kernel, shape, params, bytes);
  }
  std::function<void(int, unsigned char*, std::uint64_t)> change;
  int copies = 0, launches = 0, lost = -1;
};

// Resets, writes what a kernel would, reads.
Result<Words> once(WatchedDevice& device) {
  auto results = TRY(SealedResults::make(device, {}, sizeof(Words)));
  TRY(results.reset(sizeof(Words), 16));
  auto* words = reinterpret_cast<std::uint64_t*>(results.address());
  for (std::size_t i = 0; i < kWords.size(); ++i)
    if (i != 2) words[i] += kWords[i];
  Words read{};
  TRY(results.read(read.data(), sizeof read));
  return read;
}

std::string error_of(WatchedDevice& device) {
  const auto read = once(device);
  if (read) return "no error";
  EXPECT_TRUE(is_corruption(read.error()));
  return read.error().message;
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

TEST(SealedResults, GoodOnesArrive) {
  WatchedDevice device;
  const auto read = once(device);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, kWords);
}

TEST(SealedResults, EveryBitOfACopyCounts) {
  for (const int copy : {0, 1})  // the seal, the words
    for (std::uint64_t bit = 0; bit < 8 * (copy ? sizeof(Words) : sizeof(RecordSeal)); ++bit) {
      WatchedDevice device;
      device.change = [&](int number, unsigned char* target, std::uint64_t) {
        if (number == copy) target[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
      };
      EXPECT_TRUE(has(error_of(device), "a second copy was right")) << copy << " " << bit;
    }
}

TEST(SealedResults, ACopyThatDoesNothingCounts) {
  for (const int copy : {0, 1}) {
    WatchedDevice device;
    device.change = [&](int number, unsigned char* target, std::uint64_t bytes) {
      if (number == copy) std::fill(target, target + bytes, std::uint8_t{0});
    };
    EXPECT_TRUE(has(error_of(device), "a second copy was right")) << copy;
  }
}

TEST(SealedResults, ABadCopyIsToldFromBadResults) {
  WatchedDevice device;
  device.change = [](int number, unsigned char* target, std::uint64_t) {
    if (number % 2 == 1) target[number] ^= 1;
  };
  EXPECT_TRUE(has(error_of(device), "other words in each copy"));
}

TEST(SealedResults, ALaunchThatDidNothingIsToldAsSuch) {
  WatchedDevice reset, seal;
  reset.lost = 0, seal.lost = 1;
  EXPECT_TRUE(has(error_of(reset), "did not reset its results"));
  EXPECT_TRUE(has(error_of(seal), "did not seal its results"));
}

TEST(SealedResults, OperandsAreProvenBitByBit) {
  WatchedDevice device;
  auto results = SealedResults::make(device, {}, sizeof(Words));
  ASSERT_TRUE(results);
  Words on_device = kWords;
  const auto proven = [&] {
    return results->prove(reinterpret_cast<DeviceAddress>(on_device.data()), kWords.data(),
                          sizeof kWords);
  };
  EXPECT_TRUE(proven());
  for (std::size_t bit = 0; bit < 8 * sizeof kWords; ++bit) {
    on_device[bit / 64] ^= 1ull << bit % 64;
    const auto done = proven();
    ASSERT_FALSE(done) << bit;
    EXPECT_TRUE(has(done.error().message, "not those that the host sent"));
    on_device[bit / 64] ^= 1ull << bit % 64;
  }
}

// Vulkan's -1 is VK_ERROR_OUT_OF_HOST_MEMORY.
TEST(SealedResults, ErrorsOfDriversAndFilesAreNoCorruption) {
  EXPECT_FALSE(is_corruption({ErrorKind::device, "x", -1}));
  EXPECT_FALSE(is_corruption({ErrorKind::io, "x", 5}));
}

}  // namespace
}  // namespace gpuready
