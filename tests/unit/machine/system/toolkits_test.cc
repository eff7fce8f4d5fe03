#include "machine/system/toolkits.h"

#include "host/recording/recording.h"
#include "machine/sources.h"
#include "unit/machine/scripted.h"

namespace gpuready {
namespace {

TEST(Toolkits, CdiSpecificationsOfNvidiaNameTheirDriver) {
  const auto yaml = parse_cdi(
      "---\ncdiVersion: 0.5.0\nkind: nvidia.com/gpu\nmounts:\n"
      "- hostPath: /usr/lib/libcuda.so.1\n- hostPath: /usr/lib/libcuda.so.535.54.03\n");
  ASSERT_TRUE(yaml);
  EXPECT_EQ(yaml->version, "0.5.0");
  EXPECT_EQ(yaml->driver_version, "535.54.03");
  const auto json = parse_cdi(
      R"({"cdiVersion":"0.6.0","kind":"management.nvidia.com/gpu","x":"/lib/libcuda.so.580.95.05"})");
  ASSERT_TRUE(json);
  EXPECT_EQ(json->kind, "management.nvidia.com/gpu");
  EXPECT_EQ(json->driver_version, "580.95.05");
  const auto jetson = parse_cdi("cdiVersion: 0.5.0\nkind: nvidia.com/gpu\n- libcuda.so.1.1\n");
  ASSERT_TRUE(jetson);
  EXPECT_FALSE(jetson->driver_version);
  for (const char* other : {"", "kind: nvidia.com/gpu", "cdiVersion: 0.5.0\nkind: amd.com/gpu",
                            "cdiVersion: x\nkind: nvidia.com/gpu", "cdiVersion", "cdiVersion:"})
    EXPECT_FALSE(parse_cdi(other)) << other;
}

TEST(Toolkits, CudaVersions) {
  EXPECT_EQ(parse_cuda_version_json(R"({"cuda":{"name":"CUDA SDK","version":"12.4.1"}})"),
            "12.4.1");
  EXPECT_EQ(parse_cuda_version_json(R"({"cuda":{"version":12}})"), std::nullopt);
  EXPECT_EQ(parse_cuda_version_json("{"), std::nullopt);
  EXPECT_EQ(parse_cuda_version_txt("CUDA Version 10.2.89\n"), "10.2.89");
  for (const char* other : {"", "10.2.89\n", "CUDA Version\n", "CUDA Version x\n"})
    EXPECT_EQ(parse_cuda_version_txt(other), std::nullopt) << other;
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

TEST(Toolkits, TheFolderAboveThatOfNvccIsItsToolkit) {
  for (const auto& [folder, root] :
       {std::pair("/opt/kit/bin", "/opt/kit"), {"/kit/bin", "/kit"}, {"/bin", "/"}}) {
    Machine machine;
    const std::string version = std::string(root) + (root == std::string("/") ? "" : "/");
    read_toolkits(*scripted(R"("environment":{"PATH":")" + std::string(folder) +
                            R"("},"files":{")" + folder + R"(/nvcc":"",")" + version +
                            R"(version.json":"{\"cuda\":{\"version\":\"12.4.1\"}}"})"),
                  machine);
    ASSERT_EQ(machine.toolkits.size(), 1u) << folder;
    EXPECT_EQ(machine.toolkits[0].path, root);
    EXPECT_TRUE(machine.toolkits[0].on_path);
  }
}

TEST(Toolkits, TheFirst32FoldersOfPathAreSearched) {
  const auto found = [](int place) {
    std::string path;
    for (int i = 1; i < place; ++i) path += "/other" + std::to_string(i) + ":";
    Machine machine;
    read_toolkits(*scripted(R"("environment":{"PATH":")" + path + R"(/opt/kit/bin"},
     "files":{"/opt/kit/bin/nvcc":"",
              "/opt/kit/version.json":"{\"cuda\":{\"version\":\"12.4.1\"}}"})"),
                  machine);
    return machine.toolkits.size();
  };
  EXPECT_EQ(found(1), 1u);
  EXPECT_EQ(found(32), 1u);
  EXPECT_EQ(found(33), 0u);
}

// Variables and PATH lead to toolkits of others: their versions are read, and nothing is run.
TEST(Toolkits, NvccIsNeverRun) {
  const auto host = scripted(R"("environment":{"PATH":"/home/u/bin:/usr/bin",
    "CUDA_HOME":"/home/u/cuda","CUDA_PATH":"/home/u/other"},
   "links":{"/usr/bin/nvcc":"../lib/nvidia-cuda-toolkit/bin/nvcc"},
   "files":{"/usr/lib/nvidia-cuda-toolkit/bin/nvcc":"","/home/u/bin/nvcc":"",
            "/home/u/cuda/bin/nvcc":"","/home/u/other/bin/nvcc":""})");
  Recording asked;
  const auto recorder = make_recording_host(*host, asked);
  Machine machine;
  machine.full = true;
  read_toolkits(*recorder, machine);
  EXPECT_TRUE(asked.tools.empty()) << asked.tools.begin()->first;
  EXPECT_TRUE(machine.toolkits.empty()) << machine.toolkits[0].path;
}

TEST(Toolkits, TheRuntimesFileTellsTheVersion) {
  Machine machine;
  read_toolkits(*scripted(R"("environment":{"PATH":"/usr/bin","CUDA_HOME":"/opt/kit"},
   "links":{"/usr/bin/nvcc":"../lib/nvidia-cuda-toolkit/bin/nvcc"},
   "directories":{"/usr/lib/x86_64-linux-gnu":["libcudart.so.11.0","libcudart.so.11.8.89"],
                  "/opt/kit/targets/x86_64-linux/lib":["libcublas.so.12.9.1.4","libcudart.so.12","libcudart.so.12.4.127"]},
   "files":{"/usr/lib/nvidia-cuda-toolkit/bin/nvcc":"","/opt/kit/bin/nvcc":""})"),
                machine);
  ASSERT_EQ(machine.toolkits.size(), 2u);
  EXPECT_EQ(machine.toolkits[0].path, "/opt/kit");
  EXPECT_EQ(machine.toolkits[0].version, "12.4.127");
  EXPECT_EQ(machine.toolkits[1].version, "11.8.89") << "as Debian packs it";
  EXPECT_TRUE(machine.toolkits[1].on_path);
}

}  // namespace
}  // namespace gpuready
