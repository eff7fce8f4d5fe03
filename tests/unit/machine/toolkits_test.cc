#include "machine/toolkits.h"

#include "machine/sources.h"
#include "scripted.h"

namespace gpuready {
namespace {

TEST(Toolkits, CudaVersions) {
  EXPECT_EQ(parse_cuda_version_json(R"({"cuda":{"name":"CUDA SDK","version":"12.4.1"}})"),
            "12.4.1");
  EXPECT_EQ(parse_cuda_version_json(R"({"cuda":{"version":12}})"), std::nullopt);
  EXPECT_EQ(parse_cuda_version_json("{"), std::nullopt);
  EXPECT_EQ(parse_cuda_version_txt("CUDA Version 10.2.89\n"), "10.2.89");
  EXPECT_EQ(parse_nvcc_version("nvcc: NVIDIA\nCuda compilation tools, release 12.4, V12.4.131\n"),
            "12.4");
  EXPECT_EQ(parse_nvcc_version("release x"), std::nullopt);
}

TEST(Toolkits, EachMajorOfALibraryOnce) {
  const auto found = pick_libraries(
      "/lib", {"libcudnn.so", "libcudnn.so.8", "libcudnn.so.8.9.7", "libcudnn.so.9",
               "libcudnn_ops.so.9", "libnccl.so.2.21.5", "libz.so.1", "libnccl.so.x"});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].name, "libcudnn.so.8");
  EXPECT_EQ(found[0].version, "8.9.7");
  EXPECT_EQ(found[1].version, "9");
  EXPECT_EQ(found[2].real_path, "/lib/libnccl.so.2.21.5");
}

TEST(Toolkits, OneToolkitBehindTwoLinksIsOne) {
  Machine machine;
  read_toolkits(*scripted(R"("environment":{"PATH":"/usr/bin:/usr/local/cuda/bin"},
   "links":{"/usr/local/cuda":"cuda-12.4","/usr/local/cuda-12":"cuda-12.4"},
   "files":{"/usr/local/cuda-12.4/version.json":"{\"cuda\":{\"version\":\"12.4.1\"}}",
            "/usr/local/cuda-12.4/bin/nvcc":"","/usr/local/cuda-11.8/bin/nvcc":""})"),
                machine);
  ASSERT_EQ(machine.toolkits.size(), 2u);
  EXPECT_EQ(machine.toolkits[0].path, "/usr/local/cuda-12.4");
  EXPECT_EQ(machine.toolkits[0].version, "12.4.1");
  EXPECT_TRUE(machine.toolkits[0].on_path);
  EXPECT_EQ(machine.toolkits[1].version, "11.8") << "by its folder's name";
  EXPECT_FALSE(machine.toolkits[1].on_path);
}

TEST(Toolkits, NvccIsRunOnlyInAFullInspection) {
  const auto host = scripted(R"("environment":{"PATH":"/usr/bin"},
   "links":{"/usr/bin/nvcc":"../lib/nvidia-cuda-toolkit/bin/nvcc"},
   "files":{"/usr/lib/nvidia-cuda-toolkit/bin/nvcc":""},
   "tools":{"/usr/lib/nvidia-cuda-toolkit/bin/nvcc --version":{"exit_code":0,
     "out":"Cuda compilation tools, release 11.8, V11.8.89\n"}})");
  Machine machine;
  read_toolkits(*host, machine);
  EXPECT_TRUE(machine.toolkits.empty());
  machine.full = true;
  read_toolkits(*host, machine);
  ASSERT_EQ(machine.toolkits.size(), 1u);
  EXPECT_EQ(machine.toolkits[0].version, "11.8");
  EXPECT_TRUE(machine.toolkits[0].on_path);
}

}  // namespace
}  // namespace gpuready
