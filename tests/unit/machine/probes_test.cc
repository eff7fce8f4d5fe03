// Documents of the Vulkan, ROCm and Metal probes.
#include <string>
#include <vector>

#include "machine/sources.h"
#include "unit/machine/scripted.h"

namespace gpuready {
namespace {

ProbeDocument document(const std::string& calls, const std::string& outcome = "completed") {
  const auto doc = parse_json(R"json({"probe":"test","version":1,"outcome":")json" + outcome +
                                  R"json(","calls":{)json" + calls + "}}",
                              "test");
  auto out = doc ? probe_document_from_json(*doc, "test") : std::unexpected(doc.error());
  EXPECT_TRUE(out) << (out ? "" : out.error().message);
  return out.value_or(ProbeDocument{});
}

constexpr const char* kLlvmpipe = R"json(
  "vkCreateInstance()":{"code":0},
  "vkEnumeratePhysicalDevices()":{"code":0,"value":1},
  "vkGetPhysicalDeviceProperties2(0)":{"code":0,
    "value":{"name":"llvmpipe","type":"cpu","vendor_id":65541}})json";

constexpr const char* kTwoDevices = R"json(
  "vkEnumeratePhysicalDevices()":{"code":0,"value":2},
  "vkGetPhysicalDeviceProperties2(0)":{"code":0,
    "value":{"name":"A","type":"discrete","vendor_id":4318,"pci":"0000:17:00.0"}},
  "vkGetPhysicalDeviceMemoryProperties(0)":{"code":0,
    "value":[{"bytes":100,"device_local":true},{"bytes":50,"device_local":false}]},
  "vkGetPhysicalDeviceProperties2(1)":{"code":0,
    "value":{"name":"B","type":"discrete","vendor_id":4318,
             "uuid":"11111111-2222-3333-4444-555555555555"}})json";

constexpr const char* kMali = R"json(
  "vkEnumeratePhysicalDevices()":{"code":0,"value":1},
  "vkGetPhysicalDeviceProperties2(0)":{"code":0,
    "value":{"name":"Mali-G610","type":"integrated","vendor_id":5045}})json";

constexpr const char* kHsaFails = R"json(
  "hsa_init()":{"code":4104},
  "hsa_status_string(4104)":{"code":0,"value":"HSA_STATUS_ERROR_OUT_OF_RESOURCES"},
  "hipInit(0)":{"code":100})json";

constexpr const char* kMi300 = R"json(
  "hsa_init()":{"code":0},
  "hipInit(0)":{"code":0},
  "hipRuntimeGetVersion()":{"code":0,"value":60140092},
  "hipGetDeviceCount()":{"code":0,"value":1},
  "hipDeviceGetPCIBusId(0)":{"code":0,"value":"0000:05:00.0"},
  "hipDeviceGetName(0)":{"code":0,"value":"AMD Instinct MI300X"},
  "hipDeviceTotalMem(0)":{"code":0,"value":206141652992})json";

constexpr const char* kMac = R"json(
  "MTLCopyAllDevices()":{"code":0,"value":1},
  "name(0)":{"code":0,"value":"Apple M3 Max"},
  "hasUnifiedMemory(0)":{"code":0,"value":1},
  "registryID(0)":{"code":0,"value":4294968362},
  "recommendedMaxWorkingSetSize(0)":{"code":0,"value":103079215104})json";

TEST(Vulkan, ASoftwareDeviceIsNoGpu) {
  Machine machine;
  apply_vulkan(document(kLlvmpipe), machine);
  ASSERT_EQ(machine.vulkan.devices.size(), 1u);
  EXPECT_TRUE(machine.vulkan.devices[0].software());
  EXPECT_TRUE(machine.gpus.empty());
}

TEST(Vulkan, JoinsByAddressAndByUuid) {
  Machine machine;
  gpu_at(machine, {0, 0x17, 0, 0}, Vendor::nvidia);
  gpu_at(machine, {0, 0x18, 0, 0}, Vendor::nvidia).uuid =
      "GPU-11111111-2222-3333-4444-555555555555";
  apply_vulkan(document(kTwoDevices), machine);
  ASSERT_EQ(machine.gpus.size(), 2u);
  EXPECT_EQ(machine.gpus[0].name, "A");
  EXPECT_EQ(machine.gpus[0].memory.total_bytes, 100u);
  EXPECT_EQ(machine.gpus[1].name, "B");
}

TEST(Vulkan, IsTheOnlyWitnessOfOtherVendors) {
  Machine machine;
  apply_vulkan(document(kMali), machine);
  ASSERT_EQ(machine.gpus.size(), 1u);
  EXPECT_EQ(machine.gpus[0].vendor, Vendor::other);
  EXPECT_TRUE(machine.gpus[0].integrated);
}

std::string vulkan_device(const std::string& properties) {
  return R"json("vkEnumeratePhysicalDevices()":{"code":0,"value":1},
    "vkGetPhysicalDeviceProperties2(0)":{"code":0,"value":{"name":"V",)json" +
         properties + "}}";
}

// Kinds of the Vulkan specification, VkPhysicalDeviceType.
TEST(Vulkan, OnlyDiscreteAndIntegratedDevicesAreGpusThatNoOtherSourceKnows) {
  for (const auto& [type, gpus] : {std::pair("discrete", 1u),
                                   {"integrated", 1u},
                                   {"virtual", 0u},
                                   {"cpu", 0u},
                                   {"other", 0u}}) {
    Machine machine;
    apply_vulkan(document(vulkan_device(R"("vendor_id":5045,"type":")" + std::string(type) + "\"")),
                 machine);
    EXPECT_EQ(machine.vulkan.devices.size(), 1u) << type;
    EXPECT_EQ(machine.gpus.size(), gpus) << type;
  }
}

// The Vulkan loader's documentation (LoaderDriverInterface.md): either variable replaces the
// search.
TEST(Vulkan, DriversAreThoseThatAVariableNamesOrThatFoldersHold) {
  using Files = std::vector<std::string>;
  const auto files_with = [](const std::string& environment) {
    const auto host = scripted(R"("environment":{)" + environment + R"(},"files":{
      "/usr/share/vulkan/icd.d/lvp_icd.json":"{}","/usr/share/vulkan/icd.d/README":"",
      "/etc/vulkan/icd.d/nvidia_icd.json":"{}"})");
    Machine machine;
    read_vulkan_files(*host, machine);
    return machine.vulkan.icd_files;
  };
  const Files searched = {"/etc/vulkan/icd.d/nvidia_icd.json",
                          "/usr/share/vulkan/icd.d/lvp_icd.json"};
  EXPECT_EQ(files_with(""), searched);
  EXPECT_EQ(files_with(R"("VK_DRIVER_FILES":"","VK_ICD_FILENAMES":"")"), searched);
  EXPECT_EQ(files_with(R"("VK_DRIVER_FILES":"/a.json:/b.json")"), (Files{"/a.json", "/b.json"}));
  EXPECT_EQ(files_with(R"("VK_DRIVER_FILES":"","VK_ICD_FILENAMES":"/c.json")"), Files{"/c.json"});
  EXPECT_EQ(files_with(R"("VK_DRIVER_FILES":"/a.json","VK_ICD_FILENAMES":"/c.json")"),
            Files{"/a.json"});
}

// 4318 is NVIDIA's id, 5045 Arm's.
TEST(Vulkan, WithoutAnAddressItIsTheOnlyGpuOfItsVendor) {
  const auto named = [](std::vector<Vendor> vendors, int vendor_id) {
    Machine machine;
    for (const Vendor vendor : vendors) machine.gpus.emplace_back().vendor = vendor;
    apply_vulkan(
        document(vulkan_device(R"("type":"discrete","vendor_id":)" + std::to_string(vendor_id))),
        machine);
    std::vector<std::string> names;
    for (const Gpu& gpu : machine.gpus) names.push_back(gpu.name);
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(named({Vendor::nvidia}, 4318), Names{"V"});
  EXPECT_EQ(named({Vendor::amd, Vendor::nvidia}, 4318), (Names{"", "V"}));
  EXPECT_EQ(named({Vendor::nvidia, Vendor::nvidia}, 4318), (Names{"", ""}));
  EXPECT_EQ(named({Vendor::amd}, 4318), (Names{"", "V"}));
  EXPECT_EQ(named({Vendor::other}, 5045), (Names{"", "V"})) << "of two unknown vendors";
}

// Vulkan specification, VkResult.
TEST(Vulkan, AFailedStartIsNamed) {
  for (const auto& [code, name] : {std::pair(0, "VK_SUCCESS"),
                                   {-1, "VK_ERROR_OUT_OF_HOST_MEMORY"},
                                   {-2, "VK_ERROR_OUT_OF_DEVICE_MEMORY"},
                                   {-3, "VK_ERROR_INITIALIZATION_FAILED"},
                                   {-4, "VK_ERROR_DEVICE_LOST"},
                                   {-6, "VK_ERROR_LAYER_NOT_PRESENT"},
                                   {-7, "VK_ERROR_EXTENSION_NOT_PRESENT"},
                                   {-9, "VK_ERROR_INCOMPATIBLE_DRIVER"},
                                   {-13, "VK_ERROR_UNKNOWN"},
                                   {-5, "VkResult -5"}}) {
    Machine machine;
    apply_vulkan(document(R"json("vkCreateInstance()":{"code":)json" + std::to_string(code) + "}"),
                 machine);
    ASSERT_TRUE(machine.vulkan.start) << code;
    EXPECT_EQ(machine.vulkan.start->name, name);
  }
}

TEST(Rocm, AFailedStartBearsTheLibrarysName) {
  Machine machine;
  apply_rocm(document(kHsaFails), machine);
  ASSERT_TRUE(machine.amd.start);
  EXPECT_EQ(machine.amd.start->call, "hsa_init()");
  EXPECT_EQ(machine.amd.start->name, "HSA_STATUS_ERROR_OUT_OF_RESOURCES");
}

TEST(Rocm, DevicesJoinByAddress) {
  Machine machine;
  gpu_at(machine, {0, 5, 0, 0}, Vendor::amd);
  apply_rocm(document(kMi300), machine);
  ASSERT_EQ(machine.gpus.size(), 1u);
  EXPECT_EQ(machine.gpus[0].name, "AMD Instinct MI300X");
  EXPECT_EQ(machine.amd.rocm_version, "6.1");
  EXPECT_TRUE(machine.amd.start->ok());
}

TEST(Rocm, AHangIsTold) {
  Machine machine;
  auto hung = document("", "hung");
  hung.stopped_in = "hsa_init()";
  apply_rocm(hung, machine);
  EXPECT_EQ(machine.amd.outcome, "hung");
  EXPECT_EQ(machine.amd.stopped_in, "hsa_init()");
}

TEST(Metal, DevicesAndTheirMemory) {
  Machine machine;
  apply_metal(document(kMac), machine);
  ASSERT_EQ(machine.gpus.size(), 1u);
  EXPECT_EQ(machine.gpus[0].vendor, Vendor::apple);
  EXPECT_TRUE(machine.gpus[0].integrated);
  EXPECT_EQ(machine.gpus[0].memory.total_bytes, 103079215104u);
  EXPECT_EQ(machine.apple.chip, "Apple M3 Max");
  EXPECT_EQ(machine.apple.metal, true);
}

}  // namespace
}  // namespace gpuready
