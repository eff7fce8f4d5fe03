#include <gtest/gtest.h>

#include "../../fake_drivers/ask_fake.h"

namespace gpuready {
namespace {

ProbeDocument ask(const std::string& library) {
  setenv("GPUREADY_LIBCUDA", testing::fake_driver_path(library).c_str(), 1);
  return testing::ask_fake("cuda", {});
}

TEST(CudaProbe, TellsDevicesWithoutAContext) {
  const auto document = ask("fake_cuda.so");
  EXPECT_EQ(document.outcome, ProbeOutcome::completed);
  ASSERT_NE(document.find("cuInit(0)"), nullptr);
  EXPECT_TRUE(document.find("cuInit(0)")->ok());
  EXPECT_GE(document.integer("cuDeviceGetCount()").value_or(0), 1);
  EXPECT_TRUE(document.text("cuDeviceGetName(0)"));
  EXPECT_TRUE(document.unsigned_integer("cuDeviceTotalMem_v2(0)"));
  EXPECT_TRUE(document.integer("cuDeviceGetAttribute(0,compute_capability_major)"));
  for (const auto& [key, call] : document.calls)
    EXPECT_EQ(key.find("Ctx"), std::string::npos) << key;
}

TEST(CudaProbe, TellsWhichLibraryItWas) {
  EXPECT_EQ(ask("fake_cuda.so").library_real_path, testing::fake_driver_path("fake_cuda.so"));
}

TEST(CudaProbe, ALibraryOfAnotherKindLacksEverySymbol) {
  const auto document = ask("fake_nvml.so");
  EXPECT_EQ(document.outcome, ProbeOutcome::completed);
  EXPECT_TRUE(document.find("cuInit(0)")->missing);
}

TEST(CudaProbe, AbsentLibraryQuotesTheLoader) {
  const auto document = ask("no_such_library.so");
  EXPECT_EQ(document.outcome, ProbeOutcome::no_library);
  EXPECT_FALSE(document.library_error.empty());
}

}  // namespace
}  // namespace gpuready
