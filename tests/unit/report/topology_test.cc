#include "report/topology.h"

#include <gtest/gtest.h>

namespace gpuready {
namespace {

// As `nvidia-smi topo -m` writes it.
TEST(Topology, OnlyABundleOfNvLinksHasANumber) {
  const auto label = [](PathKind kind, int links) {
    GpuPath path;
    path.kind = kind;
    path.links = links;
    return path_label(path);
  };
  EXPECT_EQ(label(PathKind::nvlink, 4), "NV4");
  EXPECT_EQ(label(PathKind::nvswitch, 18), "NV18");
  EXPECT_EQ(label(PathKind::same_switch, 4), "PIX");
}

}  // namespace
}  // namespace gpuready
