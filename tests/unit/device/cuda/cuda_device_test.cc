// The CUDA executor against a fake driver.
#include "device/cuda/cuda_device.h"

#include <gtest/gtest.h>

#include "device/cuda/cuda_identity.h"
#include "unit/device/device_checks.h"
#include "unit/device/in_child.h"

namespace gpuready {
namespace {

// Opens GPU 0 of the fake and says how that ended: its name, or the error.
std::string open_outcome(std::string_view uuid = kFakeGpu0) {
  auto device = open_cuda_device(uuid);
  return device ? (*device)->info().name : device.error().message;
}

TEST(CudaDevice, OpensTheGpuWithTheUuidAskedFor) {
  EXPECT_EQ(in_child("devices=3", [] { return open_outcome(kFakeGpu1); }), "Fake GPU 1");
}

TEST(CudaDevice, RefusesAnyOtherGpu) {
  const auto text = in_child("", [] { return open_outcome(kFakeGpu1); });
  EXPECT_NE(text.find("does not show GPU-fa4e0000-0000-0000-0000-000000000001"), std::string::npos)
      << text;
  EXPECT_NE(text.find(kFakeGpu0), std::string::npos) << "what it shows instead: " << text;
}

TEST(CudaDevice, TellsTheDevicesFacts) {
  const auto text = in_child("devices=2", [] {
    auto device = open_cuda_device(kFakeGpu1);
    const DeviceInfo& info = (*device)->info();
    return *info.pci_address + " " + std::to_string(*info.compute_capability) + " " +
           std::to_string(info.units) + " " + std::to_string(*info.l2_cache_bytes) + " " +
           std::to_string(info.memory_total_bytes) + " " + std::to_string(*info.driver_version);
  });
  EXPECT_EQ(text, "0000:18:00.0 90 4 1048576 67108864 13000");
}

TEST(CudaDevice, AMigInstanceIsFoundByItsOwnUuid) {
  const auto open = [] { return open_outcome("MIG-fa4e0000-0000-0000-0000-000000000000"); };
  EXPECT_EQ(in_child("mig", open), "Fake GPU 0");
}

TEST(CudaDevice, AnOlderDriverServesByItsOlderSymbols) {
  const auto open = [] { return open_outcome(); };
  EXPECT_EQ(in_child("", open, "fake_cuda_old"), "Fake GPU 0");
}

TEST(CudaDevice, AMissingSymbolIsNamedWhenItIsNeeded) {
  const auto text = in_child(
      "",
      [] {
        auto device = open_cuda_device(kFakeGpu0);  // needs no allocation
        if (!device) return device.error().message;
        auto memory = (*device)->allocate(4096);
        return memory ? std::string("allocated") : memory.error().message;
      },
      "fake_cuda_incomplete");
  EXPECT_NE(text.find("cuMemAlloc_v2"), std::string::npos) << text;
}

TEST(CudaDevice, AMissingLibraryIsToldWithItsName) {
  const auto text = in_child("", [] { return open_outcome(); }, "no_such_driver");
  EXPECT_NE(text.find("no_such_driver"), std::string::npos) << text;
}

TEST(CudaDevice, AFailedStartKeepsNumberAndMeaning) {
  const auto text = in_child("init=803", [] { return open_outcome(); });
  EXPECT_NE(text.find("cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)"), std::string::npos)
      << text;
}

TEST(CudaDevice, ARefusedImageQuotesTheCompiler) {
  const auto text = in_child("ptx=5.0", [] {
    auto device = open_cuda_device(kFakeGpu0);
    static const char kPtx[] = ".version 6.0\n.entry k(";
    const auto* bytes = reinterpret_cast<const unsigned char*>(kPtx);
    const KernelImage images[] = {{bytes, bytes + sizeof kPtx - 1, 50, false}};
    const Kernel kernel{"k", images, nullptr};
    return (*device)->prepare(kernel).error().message;
  });
  EXPECT_NE(text.find("(222)"), std::string::npos) << text;
  EXPECT_NE(text.find("Unsupported .version"), std::string::npos) << text;
}

TEST(CudaDevice, NoImageForTheArchitectureIsNotLoaded) {
  const auto text = in_child("", [] {
    auto device = open_cuda_device(kFakeGpu0);  // 9.0
    static const unsigned char kNothing[1] = {0};
    const KernelImage images[] = {{kNothing, kNothing, 100, false}, {kNothing, kNothing, 80, true}};
    const Kernel kernel{"k", images, nullptr};
    return (*device)->prepare(kernel).error().message;
  });
  EXPECT_NE(text.find("no code for compute capability 9.0"), std::string::npos) << text;
}

std::string image_of(std::string_view text) { return std::string(text) + "\n.target sm_50\n"; }

TEST(CudaDevice, TheImageIsTheNewestThatTheDriverCompiles) {
  static const std::string kOld = image_of(".version 6.0"), kNew = image_of(".version 8.4");
  const auto image = [](const std::string& text, int capability) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
    return KernelImage{bytes, bytes + text.size(), capability, false};
  };
  const KernelImage images[] = {image(kOld, 50), image(kNew, 89)};
  EXPECT_EQ(best_image(images, 89, 12040), &images[1]);
  EXPECT_EQ(best_image(images, 89, 12020), &images[0]);
  EXPECT_EQ(best_image(images, 80, 12040), &images[0]) << "the GPU is older";
  EXPECT_EQ(best_image(images, 89, 99000), &images[1]) << "a driver newer than the table";
  EXPECT_EQ(best_image(images, 89, std::nullopt), &images[1]) << "tried where it is not known";
  EXPECT_EQ(best_image(images, 89, 8000), nullptr);
  EXPECT_EQ(best_image(images, 37, 13000), nullptr);
  EXPECT_EQ(why_no_image(images, 37, 13000), "has no code for compute capability 3.7");
  EXPECT_EQ(why_no_image({&images[1], 1}, 89, 12020),
            "needs PTX 8.4 (driver 550.54.14 or newer), which this driver, of CUDA 12.2, does not "
            "compile");
}

TEST(CudaDevice, AfterAStickyErrorEveryCallReturnsIt) {
  EXPECT_EQ(in_child("fail=cuMemcpyHtoDAsync_v2:719",
                     [] { return call_after_failed_copy(**open_cuda_device(kFakeGpu0)); }),
            "719 719");
}

TEST(CudaDevice, OutOfMemoryIsNotTheEndOfTheDevice) {
  EXPECT_EQ(
      in_child("memory=64MiB", [] { return allocate_too_much(**open_cuda_device(kFakeGpu0)); }),
      "goes on");
}

TEST(CudaDevice, CopiesArriveAndStreamsAndEventsWork) {
  EXPECT_EQ(in_child("", [] { return copy_back_and_forth(**open_cuda_device(kFakeGpu0)); }),
            "whole");
}

TEST(CudaUuid, SameWhateverPrefixCaseOrOldMigForm) {
  EXPECT_TRUE(same_cuda_uuid(kFakeGpu0, "MIG-FA4E0000-0000-0000-0000-000000000000"));
  EXPECT_TRUE(same_cuda_uuid("MIG-GPU-fa4e0000-0000-0000-0000-000000000000/1/0", kFakeGpu0));
  EXPECT_FALSE(same_cuda_uuid(kFakeGpu0, kFakeGpu1));
  EXPECT_FALSE(same_cuda_uuid("", ""));
  EXPECT_FALSE(same_cuda_uuid("GPU-fa4e", "GPU-fa4e"));
}

}  // namespace
}  // namespace gpuready
