// Ternary products in one graph, each of what the one before it made: from capability 9.0 on their
// launches overlap, and none may read or write too early.
#include <gtest/gtest.h>

#include "../unit/device/in_child.h"
#include "device/cuda_device.h"
#include "ternary_gpu.h"

namespace gpuready::ternary {
namespace {

class PtxTernaryChain : public testing::TestWithParam<const char*> {};

TEST_P(PtxTernaryChain, EveryProductIsTheCpus) {
  const auto outcome = in_child(
      std::string("sms=2,guard=4KiB,memory=256MiB,cc=") + GetParam(),
      [] {
        auto device = open_cuda_device(kFakeGpu0);
        if (!device) return device.error().message;
        Bench bench{**device, must(GpuEngine::create(**device)), must((*device)->create_stream())};
        CpuEngine cpu = must(CpuEngine::create());
        ChainCheck all;
        for (const std::int64_t rows : {1, 3, 9, 40, 130}) {
          const ChainCheck one = check_chain(bench, cpu, 390, rows);
          all.products += one.products;
          all.wrong += one.wrong;
        }
        return fmt::format("{} products, {} wrong", all.products, all.wrong);
      },
      "fake_cuda_ptx");
  EXPECT_EQ(outcome, "60 products, 0 wrong");
}

INSTANTIATE_TEST_SUITE_P(Every, PtxTernaryChain,
                         testing::Values("6.1", "8.0", "9.0", "9.0,slice=1", "10.0"));

}  // namespace
}  // namespace gpuready::ternary
